// The page's data, as html_report.cpp writes it: the run, and what changes from step to step.

const data = JSON.parse(byId("report-data").textContent);
const run = data.run;
const requestNames = new Map(data.requests);
const nameOf = (request) => requestNames.get(Number(request));
const templates = data.templates.map((text) => text.split("\0"));

// Turns [template, argument...] back into the text (value_changes.h); what is no such list stays.
function textOf(value) {
  if (!Array.isArray(value)) return value;
  const pieces = templates[value[0]];
  let text = pieces[0];
  for (let i = 1; i < pieces.length; ++i)
    text += (value[i] < 0 ? data.words[-1 - value[i]] : value[i]) + pieces[i];
  return text;
}

const isObject = (value) => typeof value === "object" && !Array.isArray(value);
const copyOf = (value) => !isObject(value) ? value
  : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyOf(member)]));
const listOf = (members) => Object.values(members || {});

function apply(value, changes) {
  for (const [key, change] of Object.entries(changes)) {
    if (change === null) delete value[key];
    else if (isObject(change)) apply(isObject(value[key] ?? 0) ? value[key] : (value[key] = {}), change);
    else value[key] = change;
  }
}

const COPY_EVERY = 50;
const copies = [];  // of every fiftieth step

// The step with this index.
function stepAt(place) {
  const step = copyOf(copies[Math.floor(place / COPY_EVERY)]);
  for (let at = place - place % COPY_EVERY + 1; at <= place; ++at) apply(step, data.steps[at]);
  return step;
}

// What the strip and the marks need of every step: its number, how much of each of MARKS it has,
// and by request the classes of its row.
const steps = [];
{
  const step = {};
  data.steps.forEach((changes, place) => {
    apply(step, changes);
    if (place % COPY_EVERY === 0) copies.push(copyOf(step));
    steps.push({ n: step.n, marks: listOf(step.marks), preempted: listOf(step.preempted),
                 rows: new Map(listOf(step.rows).map((row) => [row.request, textOf(row.class).split(" ")])),
                 hasError: listOf(step.findings).some((finding) => textOf(finding[0]) === "error") });
  });
}

const MARKS = [
  { key: "copy", letter: "c", words: "state copies" },
  { key: "evict", letter: "e", words: "evicted blocks" },
  { key: "preempt", letter: "p", words: "preemptions" },
  { key: "finding", letter: "!", words: "findings" },
];

// Index in `steps` of the last recorded step at or before a number.
function placeAtOrBefore(number) {
  let place = 0;
  while (place + 1 < steps.length && steps[place + 1].n <= number) ++place;
  return place;
}
