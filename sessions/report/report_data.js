// The page's data: the run, its steps and the sentences, as written by report_steps.cpp.

const data = JSON.parse(document.getElementById("report-data").textContent);
const meta = data.meta;
const steps = data.steps;
const texts = data.texts;
const requestNames = new Map(data.requests);

const ROW_CLASSES = ["decode", "verify", "prefill", "padding"];
const ADMISSIONS = ["running", "new", "resumed"];
const ORIGINS = ["kept", "moved", "added", "returned"];
const COMMITS = ["taken", "chunk", "preempted", "stale run", "left the engine"];
const GRAPH_MODES = ["NONE", "PIECEWISE", "FULL"];
const OUTCOMES = ["copy", "within-block shift", "self-copy skipped", "no boundary", "fresh state",
                  "same column", "padded row"];
const TERMS = ["num_computed_tokens", "num_scheduled_tokens", "num_draft_tokens",
               "num_accepted_tokens", "block_size", "mamba_state_idx", "computed_after",
               "num_tokens_running_state", "new_num_computed_tokens", "aligned_new_computed",
               "accept_token_bias", "src_col", "dst_col", "resets_accepted_count"];
const EVENTS = ["allocated", "touched", "freed", "evicted", "registered", "withdrawn", "columns set",
                "tables dropped", "free deferred", "free due", "copied from", "copied to"];

function named(fields, values) {
  const object = {};
  fields.forEach((field, i) => { object[field] = values[i]; });
  return object;
}

// Turns [template, number...] back into the sentence.
function sentence(reference) {
  const pieces = data.templates[reference[0]];
  let text = pieces[0];
  for (let i = 1; i < pieces.length; ++i) text += reference[i] + pieces[i];
  return text;
}

// " This is known bug 48, ...." behind the finding that begins a chain.
function causeOf(finding) {
  const words = sentence(finding.cause);
  return " " + words[0].toUpperCase() + words.slice(1) + ".";
}

function nameOf(request) {
  if (request < 0) return "–";
  return requestNames.has(request) ? requestNames.get(request) : "r" + request;
}

const COUNT_FIELDS = ["num_reqs", "num_prefills", "num_draft_tokens", "num_prompt_tokens",
                      "num_hit_tokens", "num_output_tokens", "num_finished", "num_preempted",
                      "num_evicted", "num_state_copies", "state_copy_bytes", "num_errors",
                      "num_warnings"];
const STEP_FIELDS = ["committed_step", "time_us", "duration_us", "token_budget",
                     "num_scheduled_tokens", "num_running", "num_waiting", "num_free_blocks",
                     "num_unfinished", "num_tokens_padded", "num_reqs_padded", "runtime_mode"];
const ROW_FIELDS = ["request", "row_class", "c", "q", "d", "a", "sampled", "admission", "hit",
                    "prompt", "slot", "origin", "samples", "count", "is_wrong_count"];

for (const step of steps) {
  step.counts = named(COUNT_FIELDS, step.k);
  step.facts = named(STEP_FIELDS, step.of);
  step.rows = (step.r || []).map((values) => named(ROW_FIELDS, values));
  step.decisions = (step.d || []).map(([launch, request, row, outcome, words, source, terms, copies]) =>
    ({ launch, request, row, outcome, words, source, terms, copies }));
  step.blockCopies = (step.bc || []).map(([request, group, from, to, words, source]) =>
    ({ request, group, from, to, words, source }));
  step.findings = (step.f || []).map(
    ([rule, error, request, row, group, column, block, words, told, follows, decision, cause]) =>
      ({ rule, error, request, row, group, column, block, words, told, follows, decision, cause,
         step: step.n }));
  // Without those that another one's words tell too.
  step.lines = step.findings.filter((finding) => !finding.told);
}

const placeOfStep = new Map(steps.map((step, i) => [step.n, i]));

// The events that mark a step, most important last.
const MARKS = [
  { key: "copy", letter: "c", words: "state copies", of: (s) => s.counts.num_state_copies },
  { key: "evict", letter: "e", words: "evicted blocks", of: (s) => s.counts.num_evicted },
  { key: "preempt", letter: "p", words: "preemptions", of: (s) => s.counts.num_preempted },
  { key: "finding", letter: "!", words: "findings",
    of: (s) => s.counts.num_errors + s.counts.num_warnings },
];

// Index in `steps` of the last recorded step at or before a number.
function placeAtOrBefore(number) {
  let place = 0;
  while (place + 1 < steps.length && steps[place + 1].n <= number) ++place;
  return place;
}
