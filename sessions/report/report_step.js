// Everything about the selected step except its block tables.

function requestTag(request) {
  const tag = el("span", "request", nameOf(request));
  tag.dataset.request = request;
  tag.title = nameOf(request) + " (request " + request + "): click to follow it";
  return tag;
}

// The words with a link for each step that they name.
function linked(className, words) {
  const line = el("span", className);
  for (const part of words.split(/\b(steps? \d+)/)) {
    const named = /^step (\d+)$/.exec(part);
    line.append(named && Number(named[1]) !== steps[current].n ? stepLink(named[1]) : part);
  }
  return line;
}

const severityTag = (kind, words) => el("span", "tag " + kind, words);

// A line without indent is a heading.
function showSections(id, lines, otherwise) {
  const target = clear(document.querySelector("#" + id + " pre"));
  for (const line of lines) {
    const box = el("div");
    box.append(line.startsWith(" ") ? linked("", line) : el("b", "", line));
    target.append(box);
  }
  if (!lines.length) target.append(el("span", "aside", otherwise));
}

function showWords(step) {
  const [title, ...words] = listOf(step.words).map(textOf);
  const copies = listOf(step.copies).map(textOf);
  byId("step-title").textContent = title;
  const notes = clear(byId("step-notes"));
  for (const [number, note] of run.bookmarks)
    if (number === step.n) notes.append(el("p", "bookmark", "★ " + note));
  const sections = copies.indexOf("");
  showSections("copies", sections < 0 ? [] : copies.slice(sections + 1),
            step.marks[0] ? "the state copies of this step are not kept at this level"
                          : "no state moves in this step");
  showSections("words", words);
}

function showFindings(step) {
  const findings = listOf(step.findings);
  byId("step-findings").hidden = findings.length === 0;
  const target = clear(document.querySelector("#step-findings div"));
  for (const finding of findings) {
    const [kind, severity, words] = listOf(finding).map(textOf);
    const line = el("p", "finding " + kind);
    line.append(severityTag(kind, severity), " ", linked("words", words));
    target.append(line);
  }
}

function showRows(step) {
  const heads = [...document.querySelectorAll("#rows th")];
  const body = clear(document.querySelector("#rows tbody"));
  for (const row of listOf(step.rows)) {
    const line = body.insertRow();
    line.dataset.request = row.request;
    line.className = textOf(row.class);
    heads.forEach(({ className, hidden }, i) => {
      const cell = line.insertCell();
      Object.assign(cell, { className, hidden });
      cell.append(className === "left name" ? requestTag(row.request) : textOf(row.cells[i]));
    });
  }
  document.querySelector("#rows .scroll").hidden = !body.rows.length;
  document.querySelector("#rows p").textContent = body.rows.length ? "" : run.no_rows;
}
