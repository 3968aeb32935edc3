// Pieces of the page of a run.

function requestTag(request) {
  const tag = el("span", "request", nameOf(request));
  tag.dataset.request = request;
  tag.title = nameOf(request) + " (request " + request + "): click to follow it";
  return tag;
}

function severityTag(error) {
  return el("span", error ? "tag error" : "tag warning", error ? "✖ error" : "▲ warning");
}

function findingLine(finding, withStep) {
  const line = el("p", "finding " + (finding.error ? "error" : "warning"));
  line.append(severityTag(finding.error), " ");
  if (withStep) line.append(stepLink(finding.step), " ");
  const decision = decisionOf(finding);
  if (decision) line.append(el("strong", "words", decision + ": "));
  line.append(el("span", "words", sentence(finding.words)));
  if (finding.cause) line.append(el("strong", "words", causeOf(finding)));
  if (finding.follows) line.append(" Follows from ", stepLink(finding.follows), ".");
  return line;
}

// What went wrong first; "" for findings that say it themselves or follow from another one.
function decisionOf(finding) { return finding.decision ? sentence(finding.decision) : ""; }

// ", 6 follow, to step 7": what follows from a finding that begins a chain. Those of all steps come in
// the order of meta.roots.
function followersOf(finding) {
  const first = steps.flatMap((step) => step.findings).filter((f) => f.error && !f.follows);
  const [number, last] = meta.roots[first.indexOf(finding)] || [0, 0];
  if (!number) return "";
  return ", " + number + (number === 1 ? " follows" : " follow") + ", to step " + last;
}

// Why a finding is there: "first" of its chain, or the step that it follows from.
function chainCell(finding) {
  if (!finding.error) return "";
  if (!finding.follows) return el("strong", "", "first" + followersOf(finding));
  const cell = el("span", "", "follows from ");
  cell.append(stepLink(finding.follows));
  return cell;
}

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit + 1 < units.length) { count /= 1024; ++unit; }
  return (unit === 0 ? count : count.toFixed(1)) + " " + units[unit];
}

function milliseconds(us) { return (us / 1000).toFixed(us % 1000 ? 2 : 0) + " ms"; }
