// The page of a comparison. Its data is the document of `hybridscope diff --json`.

const data = JSON.parse(byId("diff-data").textContent);
const steps = data.comparable === "steps" ? data.differences : [];
const MOST_REQUESTS = 30;  // in the bar, besides that of the first divergence

// The request of the first divergence; null: it is one of the whole step, undefined: there is none.
const firstRequest = steps.length && steps[0].requests.length ? steps[0].requests[0].request
                                                              : undefined;

function valueText(value) {
  if (value === null) return "-";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return String(value);
}

function totalText(total, value) {
  if (total.field === "present") return value ? "yes" : "-";
  if (total.field === "steps_until_finished" && value < 0) return "not finished";
  return grouped(value);
}

function requestTag(name, whole) {
  if (name === null) return el("span", "aside", whole);
  const isFirst = name === firstRequest;
  const tag = el("span", isFirst ? "request first" : "request", (isFirst ? "◆ " : "") + name);
  tag.dataset.request = name;
  tag.title = name + (isFirst ? ", the request of the first divergence" : "") + ": click to follow it";
  return tag;
}

function countTable(name, counts, cell) {
  const box = el("div");
  box.append(table([
    { name, left: true, text: ([key]) => (cell ? cell(key) : key) },
    { name: "differences", text: ([, count]) => grouped(count) },
  ], counts));
  return box;
}

// What the longer run does after the shorter has ended; empty: both end with the same step.
function tailText() {
  const summary = data.summary;
  if (data.comparable !== "steps" || !summary.complete) return "";
  const { a, b } = summary.last_step;
  if (a === b) return "";
  const [shorter, longer] = a < b ? ["A", "B"] : ["B", "A"];
  return "Run " + shorter + " ends with step " + grouped(Math.min(a, b)) + "; run " + longer +
    " goes on for " + counted(Math.abs(a - b), "more step") + ", to step " +
    grouped(Math.max(a, b)) + ".";
}

function showSides() {
  byId("written-by").textContent = data.program;
  byId("sides").append(table([
    { name: "", left: true, text: ([side]) => el("strong", "", side) },
    { name: "session", left: true, text: ([, side]) => side.title },
    { name: "level", left: true, text: ([, side]) => side.level },
  ], [["run A", data.a], ["run B", data.b]]));
  for (const [name, side] of [["run A", data.a], ["run B", data.b]]) {
    const line = el("div", "", name + ": " + side.title);
    line.title = side.title;
    byId("bar-sides").append(line);
  }
  const notes = data.ignored.length ? [...data.notes, "Ignored: " + data.ignored.join(", ")]
                                    : data.notes;
  for (const note of [tailText(), ...notes]) if (note) byId("notes").append(el("p", "", note));
  document.title = data.a.title + " | " + data.b.title + " – hybridscope diff";
}

function showVerdict() {
  const verdict = byId("verdict");
  const differs = data.total > 0;
  verdict.className = differs ? "tag warning" : "tag fine";
  let words = differs ? "What requests got differs." : "No difference.";
  if (data.comparable === "steps")
    words = data.summary.complete ? data.summary.verdict : "Stopped at the first divergence (--first).";
  verdict.textContent = (differs ? "≠ " : "✔ ") + words;
}

function showSettings() {
  const settings = data.settings;
  byId("settings").hidden = settings.length === 0;
  const details = byId("settings").querySelector("details");
  details.open = settings.length <= 4;
  details.querySelector("summary").append(el("strong", "", "Settings that differ: " + settings.length));
  details.querySelector("div").append(table([
    { name: "setting", left: true, text: (setting) => setting.setting },
    { name: "run A", left: true, text: (setting) => setting.a },
    { name: "run B", left: true, text: (setting) => setting.b },
  ], settings));
}

// What a language model said; the first token that differs is framed.
function showTexts() {
  const texts = data.texts || [];
  byId("texts").hidden = data.texts === undefined;
  const list = byId("texts").querySelector("div");
  if (texts.length === 0) list.append(el("p", "", "The language model says the same in both."));
  for (const text of texts) {
    list.append(el("p", "", text.words));
    const first = text.token_begins;
    for (const side of ["a", "b"]) {
      const line = el("div", "tokens");
      line.append(el("span", "label", side.toUpperCase()), text[side].slice(0, first));
      const mark = el("span", "first", text.token[side] || " ");
      mark.title = "the first difference";
      line.append(mark, text[side].slice(first + text.token[side].length));
      list.append(line);
    }
  }
}

function showSummary() {
  const summary = data.summary;
  byId("summary").hidden = data.comparable !== "steps" || !summary.complete || data.total === 0;
  if (byId("summary").hidden) return;
  byId("summary").querySelector("p").textContent =
    "Run A has " + counted(summary.num_steps.a, "step") + " (to step " + summary.last_step.a + "), run B " +
    counted(summary.num_steps.b, "step") + " (to step " + summary.last_step.b + "); " +
    grouped(summary.num_steps_that_differ) + " of the " + grouped(summary.num_steps_of_both) +
    " that both have " + (summary.num_steps_that_differ === 1 ? "differs." : "differ.");
  const tables = byId("summary").querySelector(".tables");
  const requests = Object.entries(summary.by_request);
  if (summary.num_fields_of_no_request) requests.push([null, summary.num_fields_of_no_request]);
  const sections = Object.entries(summary.by_section).map(([name, of]) => [name, of.fields]);
  tables.append(countTable("section", sections), countTable("field", Object.entries(summary.by_field)),
                countTable("request", requests, (name) => requestTag(name, "(step)")));
}

// The request of the first divergence comes first, then those with the most differences.
function showRequests() {
  const counts = data.comparable === "steps" ? data.summary.by_request : {};
  const others = Object.keys(counts).filter((name) => name !== firstRequest);
  const target = byId("requests");
  target.append(el("span", "aside", "requests that differ:"));
  const add = (name) => {
    const item = el("span");
    item.append(requestTag(name), " ", el("span", "aside", name in counts ? grouped(counts[name]) : ""));
    target.append(item);
  };
  const hasFirst = typeof firstRequest === "string";
  target.hidden = !hasFirst && others.length === 0;
  if (hasFirst) {
    add(firstRequest);
    target.append(el("span", "aside", "(◆ the request of the first divergence)"));
  }
  others.slice(0, MOST_REQUESTS).forEach(add);
  const more = data.summary.num_requests - Math.min(others.length, MOST_REQUESTS) - (hasFirst ? 1 : 0);
  if (more > 0) target.append(el("span", "aside", "and " + grouped(more) + " more"));
}

function showTotals() {
  byId("totals").hidden = data.comparable === "steps";
  if (byId("totals").hidden) return;
  byId("totals").querySelector("p").textContent = data.total === 0
    ? "No difference in what " + counted(data.summary.num_requests, "request") + " got."
    : data.shown < data.total ? grouped(data.shown) + " of " + grouped(data.total) +
      " differences are shown (--limit)" : "";
  if (data.total === 0) return;
  byId("totals").querySelector("div").append(table([
    { name: "request", left: true, text: (total) => requestTag(total.request, "(all)") },
    { name: "in all", left: true, text: (total) => total.field },
    { name: "run A", text: (total) => totalText(total, total.a) },
    { name: "run B", text: (total) => totalText(total, total.b) },
  ], data.differences, (line, total) => { line.dataset.request = total.request; }));
}

function start() {
  showSides();
  showVerdict();
  showSettings();
  showTexts();
  showSummary();
  showRequests();
  showTotals();
  document.addEventListener("click", onClick);
  startSteps();
  if (data.comparable !== "steps") byId("totals").scrollIntoView();
}

start();
