// The steps that differ, each folded until somebody opens it. The first one is open.

let current = 0;

function stepTitle(step) {
  return step.last_step > step.step ? "steps " + step.step + " to " + step.last_step
                                    : "step " + step.step;
}

function presenceWords(step) {
  const [only, other] = step.only_in === "a" ? ["A", "B"] : ["B", "A"];
  return step.last_step === undefined
    ? "Only run " + only + " has this step."
    : "Run " + other + " has ended; run " + only + " goes on to step " + grouped(step.last_step) + ".";
}

function fieldsTable(step) {
  const rows = step.requests.flatMap(({ request, fields }) =>
    fields.map((field, i) => ({ ...field, request, begins: i === 0 })));
  const result = table([
    { name: "request", left: true, text: (row) => (row.begins ? requestTag(row.request, "(step)") : "") },
    { name: "field", left: true, text: (row) => row.field },
    { name: "where", left: true, text: (row) => row.place || "" },
    { name: "run A", left: true, text: (row) => valueText(row.a) },
    { name: "run B", left: true, text: (row) => valueText(row.b) },
    { name: "section", left: true, text: (row) => el("span", "aside", row.section) },
  ], rows, (line, row) => {
    if (row.request !== null) line.dataset.request = row.request;
    line.classList.toggle("begins", row.begins);
  });
  result.classList.add("fields");
  return result;
}

// Both texts with what lies between their equal beginning and their equal end marked.
function marked(a, b) {
  const words = [a, b].map((text) => text.split(/(?<=[\s_])/));
  const shorter = Math.min(words[0].length, words[1].length);
  let head = 0;
  while (head < shorter && words[0][head] === words[1][head]) ++head;
  let tail = 0;
  while (tail < shorter - head && words[0].at(-1 - tail) === words[1].at(-1 - tail)) ++tail;
  return words.map((of) => {
    const result = el("pre");
    const middle = of.slice(head, of.length - tail).join("");
    result.append(of.slice(0, head).join(""));
    if (middle) result.append(head + tail > 0 ? el("mark", "", middle) : middle);
    result.append(of.slice(of.length - tail).join(""));
    return result;
  });
}

function decisionBox(decision) {
  const box = el("div", "decision");
  const title = el("p");
  if (decision.request !== null) title.append(requestTag(decision.request), ": ");
  title.append(el("strong", "", decision.subject), " ", el("span", "aside", decision.source));
  const alike = decision.a === decision.b;
  const sides = el("div", alike ? "sides both" : "sides");
  const add = (name, text) => {
    const side = el("div");
    side.append(el("span", "side", name), text);
    sides.append(side);
  };
  const texts = marked(decision.a, decision.b);
  if (alike) {
    add("both", texts[0]);
    if (decision.differs) add("but", el("pre", "", decision.differs));
  } else {
    add("run A", texts[0]);
    add("run B", texts[1]);
  }
  box.append(title, sides);
  return box;
}

// What the first step has besides its fields.
function appendReasons(target) {
  const first = data.first_divergence;
  if (first.decisions.length) target.append(el("h3", "", "Decisions behind it"));
  target.append(...first.decisions.map(decisionBox));
  if (first.decisions.length < first.num_decisions)
    target.append(el("p", "aside", first.decisions.length + " of " + grouped(first.num_decisions) +
                     " decisions are shown"));
  for (const side of ["a", "b"]) {
    if (!first.findings[side].length) continue;
    target.append(el("h3", "", "Findings of run " + side.toUpperCase() + " alone"));
    for (const finding of first.findings[side]) target.append(el("p", "", finding));
  }
  if (first.look_further.length)
    target.append(el("h3", "", "To look further"), el("pre", "", first.look_further.join("\n")));
}

function fillStep(place) {
  const target = document.querySelectorAll(".step .content")[place];
  if (target.childNodes.length) return;
  const step = steps[place];
  if (step.only_in) target.append(el("p", "", presenceWords(step)));
  const shown = step.requests.reduce((sum, of) => sum + of.fields.length, 0);
  const scroll = el("div", "scroll");
  if (shown) scroll.append(fieldsTable(step));
  target.append(scroll);
  if (shown < step.num_fields)
    target.append(el("p", "aside", grouped(shown) + " fields are shown, and " +
                     grouped(step.num_fields - shown) + " more differ"));
  if (place === 0) appendReasons(target);
  markFollowed();
}

// The first requests of a step: "◆ A, B and 3 more".
function requestList(step) {
  const names = step.requests.map((of) => of.request).filter((name) => name !== null);
  const listed = names.slice(0, 8).map((name) => (name === firstRequest ? "◆ " : "") + name);
  return listed.join(", ") + (names.length > 8 ? " and " + (names.length - 8) + " more" : "");
}

function addStep(step, place) {
  const section = el("section", place === 0 ? "step first" : "step");
  section.id = "step-" + step.step;
  const details = el("details");
  const summary = el("summary");
  summary.append(el("h2", "", (place === 0 ? "First divergence: " : "") + stepTitle(step)));
  summary.append(el("span", "aside", step.only_in ? presenceWords(step)
                                                  : counted(step.num_fields, "field")));
  const sections = new Set(step.requests.flatMap((of) => of.fields.map((field) => field.section)));
  for (const name of sections) summary.append(el("span", "tag", name));
  summary.append(el("span", "aside", requestList(step)));
  details.append(summary, el("div", "content"));
  details.addEventListener("toggle", () => { if (details.open) { fillStep(place); select(place); } });
  section.append(details);
  byId("steps").append(section);
}

function select(place) {
  current = place;
  const total = data.total > steps.length ? grouped(data.total) + ", " + grouped(steps.length) + " listed"
                                          : grouped(steps.length);
  byId("where").textContent = stepTitle(steps[place]) + ": " + grouped(place + 1) + " of " + total;
  document.body.dataset.step = steps[place].step;
}

function openStep(place) {
  const section = byId("steps").children[place];
  fillStep(place);
  section.querySelector("details").open = true;
  select(place);
  document.documentElement.style.scrollPaddingTop = byId("bar").offsetHeight + 12 + "px";
  section.scrollIntoView();
}

function go(place) {
  place = Math.max(0, Math.min(steps.length - 1, place));
  openStep(place);
  history.replaceState(null, "", "#step=" + steps[place].step);
}

function placeOfHash() {
  const found = /^#step=(\d+)$/.exec(location.hash);
  const place = found ? steps.findIndex((step) => step.step === Number(found[1])) : -1;
  return Math.max(place, 0);
}

function startSteps() {
  byId("bar").hidden = steps.length === 0;
  if (!steps.length) return;
  steps.forEach(addStep);
  byId("left-out").hidden = data.shown >= data.total;
  byId("left-out").textContent = "and " + grouped(data.total - data.shown) +
    " more of the steps that differ (--limit)";
  const actions = { first: () => go(0), previous: () => go(current - 1), next: () => go(current + 1) };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  const keys = { Home: actions.first, ArrowLeft: actions.previous, ArrowRight: actions.next };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  window.addEventListener("hashchange", () => go(placeOfHash()));
  openStep(placeOfHash());
}
