// The page: the selected step, keys and buttons, and the parts about the whole run.

let current = 0;
let playing = null;

function show(place) {
  current = place;
  const step = stepAt(place);
  byId("slider").value = place;
  byId("slider").setAttribute("aria-valuetext", "step " + step.n);
  byId("step-number").value = step.n;
  document.body.dataset.step = step.n;
  showWords(step);
  showFindings(step);
  showRows(step);
  showTables(step);
  drawTimeline();
  markFollowed();
}

function go(place) {
  place = Math.max(0, Math.min(steps.length - 1, place));
  if (place === current) return;
  show(place);
  history.replaceState(null, "", "#step=" + steps[place].n);
}

function stop() {
  if (playing === null) return;
  clearInterval(playing);
  playing = null;
  byId("play").textContent = "▶ play";
}

function play() {
  if (playing !== null) { stop(); return; }
  if (current === steps.length - 1) go(0);
  byId("play").textContent = "‖ pause";
  playing = setInterval(() => {
    if (current === steps.length - 1) stop(); else go(current + 1);
  }, 500);
}

function nextMark() {
  const next = steps.findIndex((step, i) => i > current && step.marks.some((number) => number > 0));
  if (next >= 0) go(next);
}

function readHash() {
  const found = /^#step=(\d+)$/.exec(location.hash);
  return found ? placeAtOrBefore(Number(found[1])) : null;
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.tagName === "INPUT" && event.target.id !== "slider") return;
  const actions = { ArrowLeft: () => go(current - 1), ArrowRight: () => go(current + 1),
                    PageUp: () => go(current - 10), PageDown: () => go(current + 10),
                    Home: () => go(0), End: () => go(steps.length - 1),
                    " ": play, n: nextMark };
  if (!(event.key in actions) || (event.key === " " && event.target.tagName === "BUTTON")) return;
  event.preventDefault();
  if (event.key !== " ") stop();
  actions[event.key]();
}

function showRun() {
  byId("name").textContent = run.title;
  document.title = run.title + " – hybridscope report";
  byId("written-by").textContent = run.program;
  const [kind, verdict] = run.verdict;
  byId("verdict").className = "tag " + kind;
  byId("verdict").textContent = verdict;
  for (const [name, value] of run.facts) {
    const pair = el("div");
    pair.append(el("dt", "", name), el("dd", "", value));
    byId("facts").append(pair);
  }
  byId("left-out").hidden = !run.left_out;
  byId("left-out").textContent = run.left_out;
  document.querySelector("#rows .slot").hidden = !run.has_slots;
  for (const words of run.notes) byId("notes").append(el("p", "notice", words));
}

function showAllFindings() {
  byId("all-findings").hidden = run.findings.length === 0;
  byId("all-findings").querySelector("div").append(table([
    { name: "step", left: true, text: ([step]) => stepLink(step) },
    { name: "severity", left: true, text: ([, kind, severity]) => severityTag(kind, severity) },
    { name: "what", left: true, text: ([, , , words]) => linked("words", words) },
  ], run.findings));
  if (!run.next) return;
  const next = el("p", "", "Next: ");
  next.append(el("code", "", run.next));
  byId("all-findings").append(next);
}

// A line of tokens; those that are not the lone run's are underlined, the first is framed.
function tokenLine(label, tokens, other, text) {
  const line = el("div", "tokens");
  line.append(el("span", "label", label));
  tokens.forEach((token, i) => {
    const differs = other.length > 0 && token !== other[i];
    const piece = el("span", differs ? "differs" : "", token);
    if (other.length > 0 && i === text.first_difference) {
      piece.classList.add("first");
      piece.title = "the first difference";
    }
    line.append(piece, text.spaced ? " " : "");
  });
  return line;
}

function showTexts() {
  const section = byId("texts");
  section.hidden = run.language === "";
  if (section.hidden) return;
  section.querySelector("p").textContent = run.language +
    ". Underlined: not what a lone run says; framed: the first such token.";
  const list = section.querySelector("div");
  for (const text of data.said) {
    list.append(el("h3", "", text.request));
    list.append(el("p", text.alone.length ? "parts" : "events", text.verdict));
    list.append(tokenLine("prompt", [text.prompt], [], text));
    list.append(tokenLine("run", text.said, text.alone, text));
    if (text.alone.length) list.append(tokenLine("alone", text.alone, text.said, text));
  }
}

function connect() {
  const actions = { first: () => go(0), previous: () => go(current - 1), play,
                    next: () => go(current + 1), last: () => go(steps.length - 1),
                    "next-mark": nextMark };
  for (const [id, action] of Object.entries(actions))
    byId(id).addEventListener("click", () => { if (id !== "play") stop(); action(); });
  byId("slider").addEventListener("input", (event) => { stop(); go(Number(event.target.value)); });
  byId("step-number").addEventListener("change", (event) => {
    const number = Number(event.target.value);
    if (Number.isInteger(number) && number > 0) go(placeAtOrBefore(number));
    event.target.value = steps[current].n;
  });
  byId("filter").addEventListener("input", () => show(current));
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  window.addEventListener("hashchange", () => { const place = readHash(); if (place !== null) { stop(); go(place); } });
  window.addEventListener("resize", drawTimeline);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTimeline);
  followTimeline();
  pageTimeline();
}

function start() {
  showRun();
  if (!steps.length) {
    byId("left-out").hidden = false;
    byId("left-out").textContent = "no step was recorded";
    byId("player").hidden = true;
    document.querySelector("main").hidden = true;
    return;
  }
  byId("slider").max = steps.length - 1;
  const last = grouped(steps[steps.length - 1].n);
  byId("step-of").textContent = "of " + (run.left_out ? steps[0].n + " to " + last : last);
  showMarks();
  showTexts();
  showAllFindings();
  connect();
  const place = readHash();
  const wrong = steps.findIndex((step) => step.hasError);
  show(place !== null ? place : Math.max(wrong, 0));
}

start();
