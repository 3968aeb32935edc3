// What a page does when it is loaded.

function startIndex() {
  for (const item of document.querySelectorAll("[data-lesson]")) {
    const kept = memory.read("lesson." + item.dataset.lesson);
    if (!kept || !kept.answered) continue;
    const done = String(kept.answered) === item.dataset.questions;
    item.querySelector(".progress").textContent =
      "; " + (done ? "✓ finished, " : "begun, ") + kept.right + " of " + item.dataset.questions +
      " answers right";
  }
}

function onKey(lesson, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = event.target;
  if (at.matches && at.matches("input, .scroll")) return;
  const actions = {
    ArrowLeft: () => lesson.goToStep(lesson.step - 1),
    ArrowRight: () => lesson.goToStep(lesson.step + 1),
    Home: () => lesson.goToStep(1),
    End: () => lesson.goToStep(lesson.lastStep()),
    n: () => lesson.goToPart(lesson.part + 1),
    p: () => lesson.goToPart(lesson.part - 1),
  };
  const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function startLesson() {
  const data = JSON.parse(byId("lesson-data").textContent);
  drawLegend(byId("legend"), data.legend);
  const lesson = new Lesson(data);
  const actions = {
    "part-back": () => lesson.goToPart(lesson.part - 1),
    "part-next": () => lesson.goToPart(lesson.part + 1),
    first: () => lesson.goToStep(1),
    back: () => lesson.goToStep(lesson.step - 1),
    forward: () => lesson.goToStep(lesson.step + 1),
    last: () => lesson.goToStep(lesson.lastStep()),
    here: () => lesson.goToStep(lesson.here.step),
    forget: () => lesson.forget(),
  };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  document.addEventListener("keydown", (event) => onKey(lesson, event));
  window.addEventListener("resize", () => noteScrollers());
  byId("lesson").hidden = false;
  lesson.showPart();
}

document.addEventListener("DOMContentLoaded", () => {
  showTheme(chosenTheme());
  byId("theme").addEventListener("click", nextTheme);
  if (byId("main").dataset.page === "index") startIndex();
  else startLesson();
});
