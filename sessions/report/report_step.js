// Everything about the selected step except its block tables.

function showOverview(step) {
  byId("step-title").textContent = step.n;
  const f = step.facts, k = step.counts;
  const words = [counted(k.num_reqs, "request") + ", " +
    grouped(f.num_scheduled_tokens) + " of " + counted(f.token_budget, "token")];
  words.push(grouped(f.num_running) + " running, " + grouped(f.num_waiting) + " waiting, " +
             counted(f.num_free_blocks, "free block"));
  words.push(f.committed_step === 0 ? "no frame returns"
    : f.committed_step === step.n ? "its own frame returns" : "frame " + f.committed_step + " returns");
  words.push("at " + milliseconds(f.time_us) + ", takes " + milliseconds(f.duration_us));
  byId("step-words").textContent = words.join(" · ");
  const commands = clear(byId("commands"));
  for (const command of step.cmd || []) commands.append(el("p", "command", "▸ " + sentence(command)));
  const events = (step.ec || []).map((count, i) => ({ count, name: EVENTS[i] }))
    .filter((event) => event.count && !event.name.startsWith("columns") && !event.name.startsWith("tables"));
  if (events.length)
    commands.append(el("p", "events", "blocks: " +
      events.map((event) => event.name + " " + event.count).join(" · ")));
  for (const bookmark of meta.bookmarks)
    if (bookmark[0] === step.n) commands.append(el("p", "bookmark", "★ " + bookmark[1]));
  byId("graph").textContent = "graph: " + sentence(step.g);
}

function showFindings(step) {
  const section = byId("step-findings");
  section.hidden = step.findings.length === 0;
  const target = clear(section.querySelector("div"));
  for (const finding of step.lines) target.append(findingLine(finding, false));
}

const rowOutcome = (row) => !row.samples ? "chunk" : row.sampled === 0 ? "discarded"
  : row.d > 0 ? (row.sampled - 1) + " of " + row.d + " drafts" : "1 token";

function showRows(step) {
  const target = clear(document.querySelector("#rows .scroll"));
  if (meta.level === "counts") {
    target.append(el("p", "aside", "recorded at level counts: rows were not kept"));
    return;
  }
  if (!step.rows.length) {
    target.append(el("p", "aside", "nothing was scheduled"));
    return;
  }
  const columns = [
    { name: "row", text: (row, i) => i },
    { name: "request", left: true, text: (row) => requestTag(row.request) },
    { name: "class", left: true, text: (row) => ROW_CLASSES[row.row_class] },
    { name: "c", title: "num_computed_tokens before the step", text: (row) => grouped(row.c) },
    { name: "q", title: "num_scheduled_tokens", text: (row) => grouped(row.q) },
    { name: "d", title: "num_draft_tokens, among q", text: (row) => row.d },
    { name: "a", title: "num_accepted_tokens that the builders are given", text: (row) => row.a },
    { name: "count of", left: true,
      title: "whose accepted count the row starts with, and the request's own if that is another",
      text: (row) => el("span", row.is_wrong_count ? "wrong" : "", sentence(row.count)) },
    { name: "sampled", title: "tokens this step brings, bonus token included; 0: discarded",
      text: (row) => row.sampled },
    { name: "outcome", left: true, text: rowOutcome },
    { name: "hit", title: "tokens served by the prefix cache, where the request was admitted",
      text: (row) => row.admission === 0 ? "" : grouped(row.hit) },
    { name: "came", left: true, title: "how it came into the step, and into its row",
      text: (row) => ADMISSIONS[row.admission] + (row.origin ? ", " + ORIGINS[row.origin] : "") },
  ];
  if (meta.runner === "V2")
    columns.splice(1, 0, { name: "slot", title: "idx_mapping", text: (row) => row.slot });
  const copying = new Set(step.decisions.filter((d) => d.copies).map((d) => d.request));
  target.append(table(columns, step.rows, (line, row) => {
    line.dataset.request = row.request;
    if (copying.has(row.request)) line.classList.add("copies");
    if (step.findings.some((f) => f.request === row.request)) line.classList.add("found");
  }));
  const padding = step.facts.num_reqs_padded - step.rows.length;
  if (step.facts.runtime_mode === 2 && padding > 0)
    target.append(el("p", "padding", "and " + counted(padding, "padding row") + " of the captured graph: " +
                     grouped(step.facts.num_tokens_padded) + " tokens, " +
                     grouped(step.facts.num_reqs_padded) + " rows"));
}

function copyElement(decision) {
  const box = el("div", "copy");
  box.dataset.request = decision.request;
  const head = el("p", "head");
  head.append(el("span", "tag", decision.launch === 0 ? "before the forward pass" : "after sampling"), " ",
              requestTag(decision.request), " ", el("b", "", OUTCOMES[decision.outcome]));
  box.append(head);
  const moves = el("p", "moves");
  for (const [group, conv, temporal, destination] of decision.copies) {
    const what = conv === temporal ? "block " + conv : "conv " + conv + ", temporal " + temporal;
    moves.append(el("span", "move", "group " + group + ": " + what + " → " + destination));
  }
  box.append(moves, el("p", "words", sentence(decision.words)));
  const details = el("details");
  details.append(el("summary", "", "all terms"));
  const list = el("dl", "terms");
  TERMS.forEach((term, i) => {
    const pair = el("div");
    pair.append(el("dt", "", term), el("dd", "", decision.terms[i]));
    list.append(pair);
  });
  details.append(list, el("p", "aside", sentence(decision.source)));
  box.append(details);
  return box;
}

// A copy of a whole block, made before anything else of the step touches state.
function blockCopyElement(copy) {
  const box = el("div", "copy");
  box.dataset.request = copy.request;
  const head = el("p", "head");
  head.append(el("span", "tag", "first"), " ", requestTag(copy.request), " ", el("b", "", "block copy"));
  const moves = el("p", "moves");
  moves.append(el("span", "move", "group " + copy.group + ": block " + copy.from + " → " + copy.to));
  const words = el("p", "words", sentence(copy.words));
  words.title = sentence(copy.source);
  box.append(head, moves, words);
  return box;
}

function showCopies(step) {
  const section = byId("copies");
  const target = clear(section.querySelector("div"));
  const copying = step.decisions.filter((decision) => decision.copies);
  section.hidden = meta.level === "counts" && !step.counts.num_state_copies;
  for (const copy of step.blockCopies) target.append(blockCopyElement(copy));
  for (const decision of copying) target.append(copyElement(decision));
  const others = step.decisions.filter((decision) => !decision.copies);
  if (!copying.length && !step.blockCopies.length)
    target.append(el("p", "aside", step.counts.num_state_copies
      ? counted(step.counts.num_state_copies, "copy").replace(/copys$/, "copies") + ", not kept at this level"
      : "no state moves in this step"));
  if (!others.length) return;
  const details = el("details", "why-not");
  details.open = !copying.length && others.length <= 4;
  details.append(el("summary", "", "why not: " + counted(others.length, "decision") + " without a copy"));
  for (const decision of others) {
    const line = el("p");
    line.dataset.request = decision.request;
    line.append(el("span", "tag", decision.launch === 0 ? "before" : "after"), " ",
                requestTag(decision.request), " ", el("span", "words", sentence(decision.words)));
    details.append(line);
  }
  target.append(details);
}

function showReturned(step) {
  const section = byId("returned");
  section.hidden = !step.cm;
  const target = clear(section.querySelector("div"));
  if (!step.cm) return;
  section.querySelector("h2").textContent = "What frame " + step.facts.committed_step + " brought";
  target.append(table([
    { name: "request", left: true, text: (c) => requestTag(c[0]) },
    { name: "outcome", left: true, text: (c) => COMMITS[c[1]] + (c[7] ? ", finished" : "") },
    { name: "c", title: "num_computed_tokens after it", text: (c) => grouped(c[2]) },
    { name: "tokens", title: "known tokens after it", text: (c) => grouped(c[3]) },
    { name: "output", title: "output tokens it added", text: (c) => c[4] },
    { name: "drafts next", title: "length of the draft list for the next step", text: (c) => c[5] },
    { name: "in flight", title: "tokens of frames still in flight", text: (c) => c[6] },
  ], step.cm, (line, c) => { line.dataset.request = c[0]; }));
}

function showQueue(step) {
  const section = byId("queue");
  const target = clear(section.querySelector("div"));
  for (const request of step.pr || []) {
    const line = el("p", "preempted");
    line.append(el("span", "tag warning", "▼ preempted"), " ", requestTag(request));
    target.append(line);
  }
  for (const [request, admitted, hit, words] of step.lk || []) {
    const line = el("div", "lookup");
    const head = el("p");
    head.append(el("span", "tag", admitted ? "admitted" : "looked up, not admitted"), " ",
                requestTag(request), " " + counted(hit, "token") + " from the prefix cache");
    line.append(head, el("pre", "", sentence(words)));
    target.append(line);
  }
  for (const [request, words] of step.sk || []) {
    const line = el("p");
    line.append(el("span", "tag", "no tokens"), " ", requestTag(request), " ", sentence(words));
    target.append(line);
  }
  section.hidden = !target.hasChildNodes();
}
