// The page: the selected step, keys and buttons, and the parts about the whole run.

let current = 0;
let playing = null;

function show(place) {
  current = place;
  const step = steps[place];
  byId("slider").value = place;
  byId("slider").setAttribute("aria-valuetext", "step " + step.n);
  byId("step-number").value = step.n;
  document.body.dataset.step = step.n;
  showOverview(step);
  showFindings(step);
  showRows(step);
  showCopies(step);
  showTables(step, place);
  showReturned(step);
  showQueue(step);
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
  const next = steps.findIndex((step, i) => i > current && MARKS.some((mark) => mark.of(step) > 0));
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
  byId("name").textContent = meta.name || meta.title;
  document.title = (meta.name || meta.title) + " – hybridscope report";
  byId("written-by").textContent = meta.program;
  const totals = meta.totals;
  const verdict = byId("verdict");
  verdict.className = "tag " + (totals.num_errors ? "error" : totals.num_warnings ? "warning" : "fine");
  verdict.textContent = totals.num_errors || totals.num_warnings
    ? (totals.num_errors ? "✖ " : "▲ ") + counted(totals.num_errors, "error") + ", " +
      counted(totals.num_warnings, "warning")
    : "✔ no findings";
  const facts = [["model", meta.model], ["mode", meta.mode],
    ["K", meta.num_speculative_tokens], ["engine", meta.engine], ["runner", meta.runner],
    ["scheduling", meta.async_scheduling ? "asynchronous" : "synchronous"],
    ["graphs", meta.cudagraph_mode], ["blocks", grouped(meta.num_blocks)],
    ["source", meta.source], ["level", meta.level], ["status", meta.status],
    ["steps", grouped(meta.num_steps)],
    ["prompt tokens", grouped(totals.num_prompt_tokens)], ["hit tokens", grouped(totals.num_hit_tokens)],
    ["output tokens", grouped(totals.num_output_tokens)],
    ["state copies", grouped(totals.num_state_copies) +
      (totals.num_state_copies ? " (" + bytes(totals.state_copy_bytes) + ")" : "")],
    ["preemptions", grouped(totals.num_preempted)], ["evictions", grouped(totals.num_evicted)],
    ["note", meta.note]];
  const list = byId("facts");
  for (const [name, value] of facts) {
    if (value === "") continue;
    const pair = el("div");
    pair.append(el("dt", "", name), el("dd", "", value));
    list.append(pair);
  }
  byId("left-out").hidden = !meta.left_out;
  byId("left-out").textContent = meta.left_out;
  for (const words of meta.notes) byId("notes").append(el("p", "notice", words));
}

function showAllFindings() {
  const section = byId("all-findings");
  const findings = steps.flatMap((step) => step.lines);
  section.hidden = findings.length === 0;
  if (section.hidden) return;
  section.querySelector("div").append(table([
    { name: "step", left: true, text: (f) => stepLink(f.step) },
    { name: "severity", left: true, text: (f) => severityTag(f.error) },
    { name: "chain", left: true, text: chainCell },
    { name: "rule", left: true, text: (f) => sentence(f.rule) },
    { name: "request", left: true, text: (f) => requestTag(f.request) },
    { name: "what", left: true,
      text: (f) => (decisionOf(f) ? decisionOf(f) + ": " : "") + sentence(f.words) +
                   (f.cause ? causeOf(f) : "") },
  ], findings));
  if (!meta.next) return;
  const next = el("p", "", "Next: ");
  next.append(el("code", "", meta.next));
  section.append(next);
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
  section.hidden = meta.language === "";
  if (section.hidden) return;
  section.querySelector("p").textContent = meta.language + ". Underlined: not what a lone run says; framed: the first such token.";
  const list = section.querySelector("div");
  for (const text of texts) {
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
  byId("filter").addEventListener("input", () => showTables(steps[current], current));
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
  byId("step-of").textContent = "of " + (steps.length === meta.num_steps
    ? grouped(steps[steps.length - 1].n) : steps[0].n + " to " + grouped(steps[steps.length - 1].n));
  showLegend();
  showMarks();
  showTexts();
  showAllFindings();
  connect();
  const place = readHash();
  const wrong = steps.findIndex((step) => step.findings.some((f) => f.error));
  show(place !== null ? place : Math.max(wrong, 0));
}

start();
