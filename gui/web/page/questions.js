// Questions: what was answered, and the engine's reply.

// The answer as the engine writes it; null: it cannot be read as one.
function readAnswer(question, text) {
  if (question.choices.length) return question.choices.includes(text) ? text : null;
  const trimmed = text.trim();
  return /^-?[0-9]{1,18}$/.test(trimmed) ? String(BigInt(trimmed)) : null;
}

// {right, words}: of an answer that was foreseen the engine's own reply, else its general one.
function replyTo(question, answer) {
  const words = Object.hasOwn(question.replies, answer) ? question.replies[answer]
    : "Not " + answer + ". " + question.other;
  return { right: answer === question.right, words };
}

function showReply(target, reply) {
  target.className = "reply " + (reply.right ? "right" : "not");
  target.replaceChildren(el("span", { "aria-hidden": "true", text: reply.right ? "✓ " : "✗ " }),
    reply.words);
}

function choiceInputs(question, name, given) {
  return question.choices.map((choice) => el("label", { class: "choice" },
    el("input", { type: "radio", name, value: choice, checked: choice === given }),
    el("span", { text: choice })));
}

function numberInput(question, name, given) {
  return [el("label", { class: "typed" }, el("span", { text: "Answer, " + question.expected }),
    el("input", { type: "text", inputmode: "numeric", name, autocomplete: "off", size: 6,
                  value: given ?? "" }))];
}

// `answered(answer)` is called with each answer that can be read.
function questionForm(question, number, given, answered) {
  const name = "question-" + number;
  const reply = el("p", { class: "reply", role: "status" });
  if (given !== undefined) showReply(reply, replyTo(question, given));
  const inputs = question.choices.length ? choiceInputs(question, name, given)
    : numberInput(question, name, given);
  const form = el("form", { class: "question", "data-question": number },
    el("fieldset", {},
      el("legend", {}, el("b", { text: "Question " + (number + 1) + ": " }), question.ask),
      el("div", { class: question.choices.length ? "" : "row" }, ...inputs,
        el("button", { type: "submit", text: "Check" }))), reply);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = new FormData(form).get(name) ?? "";
    const answer = readAnswer(question, String(text));
    if (answer === null) {
      reply.className = "reply unread";
      reply.textContent = question.choices.length ? "Choose an answer first."
        : "Expected " + question.expected + ".";
      return;
    }
    showReply(reply, replyTo(question, answer));
    answered(answer);
  });
  return form;
}
