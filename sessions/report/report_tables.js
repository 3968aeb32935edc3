// Block tables, requests x columns for each group. A cell is one text, which report_tables.cpp makes.

const ALIGNED_COLUMNS = 13;  // up to this many groups are aligned in columns, wider ones are folded
const SHORT_ROWS = 40;
const FOLD_FROM = 3;         // this many quiet cells in a row are folded into one

function cellOf(text, column) {
  const [className, signs, worker, block, ...words] = textOf(text).split("\n");
  return { column, className, signs, worker, block, words, has: (name) => className.split(" ").includes(name) };
}

function cellElement(cell, place, showColumn) {
  const td = el("td", "cell " + cell.className);
  Object.assign(td.dataset, place, { column: cell.column, block: cell.block });
  td.title = cell.words.join("\n");
  if (showColumn) td.append(el("span", "column", cell.column));
  td.append(el("span", "block", cell.block), el("span", "flags", cell.signs));
  if (cell.worker) td.append(el("span", "worker", cell.worker));
  return td;
}

function foldElement(cells) {
  const td = el("td", "fold");
  const first = cells[0], last = cells[cells.length - 1];
  const nulls = first.has("null-block");
  const ascending = cells.every((cell, i) => Number(cell.block) === Number(first.block) + i);
  const cached = cells.filter((cell) => cell.has("labelled")).length;
  td.append(el("span", "column", first.column + "–" + last.column),
            el("span", "block", nulls ? "0×" + cells.length
              : ascending ? first.block + "–" + last.block : counted(cells.length, "block")),
            el("span", "flags", cached ? "c" + cached : ""));
  td.title = "columns " + first.column + " to " + last.column + ": " +
    (nulls ? "null blocks" : "blocks " + cells.map((cell) => cell.block).join(" ")) +
    (cached ? "\n" + cached + " of them cached" : "");
  return td;
}

function appendFolded(line, cells, place) {
  for (let i = 0; i < cells.length;) {
    let end = i;
    while (end < cells.length && cells[end].has("quiet") &&
           cells[end].has("null-block") === cells[i].has("null-block")) ++end;
    if (end - i >= FOLD_FROM) {
      line.append(foldElement(cells.slice(i, end)));
      i = end;
    } else {
      line.append(cellElement(cells[i++], place, true));
    }
  }
}

// `tables`: by request.
function groupTable(group, requests, tables, inBatch) {
  const lines = requests.map((request) => [request, listOf(tables[request]).map(cellOf)]);
  const width = Math.max(0, ...lines.map(([, cells]) => cells.length));
  const aligned = width <= ALIGNED_COLUMNS;
  const result = el("table", "blocks " + (aligned ? "aligned" : "folded"));
  if (aligned) {
    const head = result.createTHead().insertRow();
    head.append(el("th", "left", "column"));
    for (let column = 0; column < width; ++column) head.append(el("th", "", column));
  }
  const body = result.createTBody();
  for (const [request, cells] of lines) {
    const line = body.insertRow();
    line.dataset.request = request;
    const name = el("th", "left");
    name.append(requestTag(request));
    if (!inBatch.has(request)) {
      line.className = "waiting";
      name.append(el("span", "aside", " no row"));
    }
    line.append(name);
    if (aligned) line.append(...cells.map((cell) => cellElement(cell, { request, group }, false)));
    else appendFolded(line, cells, { request, group });
  }
  return result;
}

let allTableRows = false;

// Requests with a row come first, in row order, then requests that only hold blocks.
function showTables(step) {
  const target = clear(document.querySelector("#tables .groups"));
  byId("tables").hidden = !run.has_tables;
  if (!run.has_tables) return;
  const groups = step.tables || {};
  const inBatch = new Set(listOf(step.rows).map((row) => String(row.request)));
  const holders = Object.values(groups).flatMap((tables) =>
    Object.keys(tables).filter((request) => listOf(tables[request]).length));
  const wanted = byId("filter").value.trim();
  const requests = [...new Set([...inBatch, ...holders])]
    .filter((request) => !wanted || nameOf(request).includes(wanted));
  const shown = allTableRows ? requests : requests.slice(0, SHORT_ROWS);
  if (run.tables_note) target.append(el("p", "aside", run.tables_note));
  run.groups.forEach(({ name, words }, group) => {
    const box = el("div", "group");
    const title = el("h3", "", name + " ");
    title.append(el("span", "aside", words + (listOf(step.assumed).includes(group)
      ? "; reads and writes are assumed: the graph replays arrays of an earlier step" : "")));
    const scroll = el("div", "scroll");
    scroll.append(shown.length ? groupTable(group, shown, groups[group] || {}, inBatch)
                               : el("p", "aside", "no request holds a block"));
    box.append(title, scroll);
    target.append(box);
  });
  if (requests.length > SHORT_ROWS) {
    const button = el("button", "", allTableRows ? "show the first " + SHORT_ROWS + " requests"
      : "show all " + requests.length + " requests (" + SHORT_ROWS + " are shown)");
    button.addEventListener("click", () => { allTableRows = !allTableRows; show(current); });
    target.append(button);
  }
}
