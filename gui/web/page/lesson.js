// A lesson being taken: its open part, the step that is shown, and the answers so far.

class Lesson {
  constructor(data) {
    this.data = data;
    const kept = memory.read("lesson." + data.name);
    const fits = kept?.digest === data.digest && kept.answers instanceof Object;
    this.answers = fits ? kept.answers : {};  // "part.question" -> answer
    this.shown = new Set(fits && Array.isArray(kept.shown) ? kept.shown : []);  // by "Show it now"
    this.part = fits && data.parts[kept.part] ? kept.part : 0;
    this.step = this.stepToShow();
    this.open = new Set();
  }

  get here() { return this.data.parts[this.part]; }
  get steps() { return this.data.runs[this.here.run].steps; }
  answer(question, part = this.part) { return this.answers[part + "." + question]; }
  isAnswered() { return this.here.questions.every((_, i) => this.answer(i) !== undefined); }
  // Its own step would give the answers away.
  keepsSecret() { return this.here.predict && !this.shown.has(this.part) && !this.isAnswered(); }
  lastStep() { return this.keepsSecret() ? this.here.step - 1 : this.steps.length; }
  stepToShow() { return this.lastStep() < this.here.step ? this.lastStep() : this.here.step; }

  numRight() {
    let right = 0;
    this.data.parts.forEach((part, p) => part.questions.forEach((question, q) => {
      if (this.answer(q, p) === question.right) ++right;
    }));
    return right;
  }

  keep() {
    memory.write("lesson." + this.data.name, {
      digest: this.data.digest, part: this.part, answers: this.answers, shown: [...this.shown],
      right: this.numRight(), answered: Object.keys(this.answers).length });
  }

  forget() {
    this.answers = {};
    this.shown = new Set();
    this.part = 0;
    this.keep();
    this.showPart();
  }

  goToPart(part) {
    if (part < 0 || part >= this.data.parts.length) return;
    this.part = part;
    this.keep();
    this.showPart();
    byId("part-title").focus();
  }

  goToStep(step) {
    this.step = Math.max(Math.min(step, this.lastStep()), Math.min(1, this.lastStep()));
    this.showStep();
  }

  showPart() {
    const { text, panel, questions } = this.here;
    this.open = new Set(["block_tables", panel]);
    byId("part-title").textContent = "Part " + (this.part + 1) + " of " + this.data.parts.length;
    byId("text").replaceChildren(...text.map((paragraph) => el("p", { text: paragraph })));
    byId("questions").replaceChildren(...questions.map((question, i) =>
      questionForm(question, i, this.answer(i), (answer) => this.take(i, answer))));
    byId("part-back").disabled = this.part === 0;
    byId("part-next").disabled = this.part + 1 === this.data.parts.length;
    this.step = this.stepToShow();
    this.showScore();
    this.showStep();
  }

  take(question, answer) {
    const secret = this.keepsSecret();
    this.answers[this.part + "." + question] = answer;
    this.keep();
    this.showScore();
    if (secret && !this.keepsSecret()) this.goToStep(this.here.step);
  }

  reveal() {
    this.shown.add(this.part);
    this.keep();
    this.goToStep(this.here.step);
  }

  showScore() {
    byId("score").textContent = this.numRight() + " of " + this.data.questions + " answers right";
    const last = this.part + 1 === this.data.parts.length;
    byId("part-end").hidden = !(last && this.isAnswered());
    byId("part-end").textContent = "That was the last part: " + byId("score").textContent + ".";
  }

  noteSecret() {
    const note = byId("step-note");
    note.hidden = !this.keepsSecret();
    if (note.hidden) return;
    note.replaceChildren(
      "Step " + this.here.step + " is shown when the questions of this part are answered. ",
      el("button", { type: "button", id: "reveal", text: "Show it now", onclick: () => {
        this.reveal();
        byId("step-title").focus();
      } }));
  }

  showStep() {
    const step = this.steps[this.step - 1];
    const title = byId("step-title");
    title.tabIndex = -1;
    title.textContent = !step ? "Before the first step"
      : "Step " + step.step + " of " + this.steps.length + (step.found ? ": " + step.found : "");
    title.className = step && step.has_error ? "found" : "";
    this.noteSecret();
    byId("first").disabled = byId("back").disabled = this.step <= 1;
    byId("forward").disabled = byId("last").disabled = this.step >= this.lastStep();
    byId("here").disabled = this.step === this.stepToShow();
    const { settings } = this.data.runs[this.here.run];
    byId("settings").textContent =
      settings.length ? "This part's run has other settings: " + settings.join(", ") : "";
    this.showPanels(step);
  }

  // The panel that the part is about comes first.
  showPanels(step) {
    const { request, group, column, panel } = this.here;
    const about = this.step === this.here.step ? { request, group, column } : {};
    const order = [...this.data.panels].sort((a, b) => (b.id === panel) - (a.id === panel));
    byId("panels").replaceChildren(...(step ? order.map((info) =>
      panelBox(info, step.panels[info.id], about, this.open.has(info.id), (open) =>
        open ? this.open.add(info.id) : this.open.delete(info.id))) : []));
    noteScrollers();
  }
}
