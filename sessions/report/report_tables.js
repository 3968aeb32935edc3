// Block tables, requests x columns for each group, as the scheduler sees them and, where it
// differs, as the worker does.

const ALIGNED_COLUMNS = 13;  // up to this many groups are aligned in columns, wider ones are folded
const SHORT_ROWS = 40;
const FOLD_FROM = 3;         // this many quiet cells in a row are folded into one

// By the code of a cell (report_cells.h): the role of its block, and what the step does with it.
const ROLES = meta.cells.roles.map(([word, letter, words]) => ({ word, letter, words }));
const IN_USE = ["running", "speculative"];  // roles whose letter stands in the cell
const READ = 16, WRITTEN = 32;

function roleOf(code) { return ROLES[code % 16]; }
function useMarks(code) { return (code & READ ? "▴" : "") + (code & WRITTEN ? "▾" : ""); }
function useWords(code) { return meta.cells.uses[code - code % 16]; }

// "request/group/column" -> what the step's copies do there.
function copyPlaces(step) {
  const places = new Map();
  const note = (key, mark, words) => {
    const notes = places.get(key) || [];
    if (!notes.some((other) => other.words === words)) notes.push({ mark, words });
    places.set(key, notes);
  };
  for (const decision of step.decisions) {
    if (!decision.copies) continue;
    const terms = named(TERMS, decision.terms);
    const when = decision.launch === 0 ? "pre-copy" : "post-copy";
    for (const [group] of decision.copies) {
      const key = tableKey(decision.request, group) + "/";
      const temporal = terms.src_col + terms.accept_token_bias;
      note(key + terms.src_col, "→", when + ": source of the conv window");
      note(key + temporal, "→", when + ": source of the temporal state");
      note(key + terms.dst_col, "←", when + ": destination");
    }
  }
  return places;
}

function cellsOf(row, request, groupIndex, during, copies, findings) {
  const group = meta.groups[groupIndex];
  const key = tableKey(request, groupIndex);
  const scheduler = during.scheduler.get(key) || [];
  const worker = during.worker.get(key) || [];
  const codes = during.codes.get(key) || [];
  return scheduler.map((block, column) => {
    const told = column < worker.length ? worker[column] : (worker.length ? 0 : null);
    const cell = { column, block, code: codes[column], key,
                   changed: during.changed.cells.has(key + "/" + column),
                   label: block !== 0 ? during.labels.get(block) : undefined,
                   holders: during.holders.get(block) || 0,
                   worker: row && told !== null && told !== block ? told : null,
                   copies: copies.get(key + "/" + column) || [],
                   findings: findings.filter((f) => f.request === request &&
                     f.group === groupIndex && f.column === column) };
    const inside = cell.label ? cell.label.tokens % group.block_size : 0;
    cell.partial = inside === 0 ? "" : inside + "/" + group.block_size;
    cell.quiet = !cell.changed && cell.code < 16 && !cell.copies.length && !cell.findings.length;
    return cell;
  });
}

function cellWords(cell, group) {
  const lines = ["column " + cell.column + ", tokens " + grouped(cell.column * group.block_size) +
                 " to " + grouped((cell.column + 1) * group.block_size - 1),
                 cell.block === 0 ? "null block (0)" : "block " + cell.block +
                 (cell.holders > 1 ? ", held by " + cell.holders + " columns" : ""),
                 roleOf(cell.code).word.replace("-", " ") + ": " + roleOf(cell.code).words];
  if (useWords(cell.code)) lines.push("in this step: " + useWords(cell.code));
  if (cell.label)
    lines.push("cached: stands for the first " + grouped(cell.label.tokens) + " tokens of " +
               nameOf(cell.label.request) +
               (cell.partial ? ", which end inside the block: " + cell.partial : ""));
  if (cell.changed) lines.push("changed in this step");
  if (cell.worker !== null) lines.push("the worker's table has " + cell.worker + " here");
  for (const copy of cell.copies) lines.push(copy.words);
  for (const finding of cell.findings) lines.push(sentence(finding.words));
  return lines.join("\n");
}

function cellElement(cell, group, groupIndex, request, showColumn) {
  const role = roleOf(cell.code);
  const td = el("td", "cell " + role.word + (cell.changed ? " changed" : "") +
                (cell.label ? " labelled" : "") + (cell.holders > 1 ? " several" : "") +
                (cell.findings.length ? " found" : ""));
  Object.assign(td.dataset, { request, group: groupIndex, column: cell.column, block: cell.block,
                              role: role.word, use: useMarks(cell.code) });
  td.title = cellWords(cell, group);
  if (showColumn) td.append(el("span", "column", cell.column));
  td.append(el("span", "block", cell.block));
  let flags = (IN_USE.includes(role.word) ? role.letter : "") + useMarks(cell.code);
  if (cell.label) flags += "c" + cell.partial;
  if (cell.holders > 1) flags += "×" + cell.holders;
  for (const mark of new Set(cell.copies.map((copy) => copy.mark))) flags += mark;
  if (cell.findings.length) flags += "!";
  td.append(el("span", "flags", flags));
  if (cell.worker !== null)
    td.append(el("span", "worker", "w " + cell.worker));
  return td;
}

function foldElement(cells) {
  const td = el("td", "fold");
  const first = cells[0], last = cells[cells.length - 1];
  const nulls = cells.every((cell) => cell.block === 0);
  const ascending = cells.every((cell, i) => cell.block === first.block + i);
  td.append(el("span", "column", first.column + "–" + last.column));
  td.append(el("span", "block", nulls ? "0×" + cells.length
    : ascending ? first.block + "–" + last.block : counted(cells.length, "block")));
  const cached = cells.filter((cell) => cell.label).length;
  td.append(el("span", "flags", (cached ? "c" + cached : "")));
  td.title = "columns " + first.column + " to " + last.column + ": " +
    (nulls ? "null blocks" : "blocks " + cells.map((cell) => cell.block).join(" ")) +
    (cached ? "\n" + cached + " of them cached" : "");
  return td;
}

function appendFolded(line, cells, group, groupIndex, request) {
  for (let i = 0; i < cells.length;) {
    let end = i;
    while (end < cells.length && cells[end].quiet &&
           (cells[end].block === 0) === (cells[i].block === 0)) ++end;
    if (end - i >= FOLD_FROM) {
      line.append(foldElement(cells.slice(i, end)));
      i = end;
    } else {
      line.append(cellElement(cells[i++], group, groupIndex, request, true));
    }
  }
}

function groupTable(groupIndex, entries, during, copies, findings) {
  const group = meta.groups[groupIndex];
  const lines = entries.map(({ request, row }) =>
    ({ request, row, cells: cellsOf(row, request, groupIndex, during, copies, findings) }));
  const width = Math.max(0, ...lines.map((line) => line.cells.length));
  const aligned = width <= ALIGNED_COLUMNS;
  const result = el("table", "blocks " + (aligned ? "aligned" : "folded"));
  if (aligned) {
    const head = result.createTHead().insertRow();
    head.append(el("th", "left", "column"));
    for (let column = 0; column < width; ++column) head.append(el("th", "", column));
  }
  const body = result.createTBody();
  for (const { request, row, cells } of lines) {
    const line = body.insertRow();
    line.dataset.request = request;
    if (!row) line.className = "waiting";
    const name = el("th", "left");
    name.append(requestTag(request));
    if (!row) name.append(el("span", "aside", " no row"));
    line.append(name);
    if (aligned)
      for (const cell of cells) line.append(cellElement(cell, group, groupIndex, request, false));
    else
      appendFolded(line, cells, group, groupIndex, request);
  }
  return result;
}

// Requests with a row come first, in row order, then requests that only hold blocks.
function tableEntries(step, during) {
  const rows = new Map(step.rows.map((row) => [row.request, row]));
  const others = new Set();
  for (const [key, blocks] of during.scheduler) {
    const request = Number(key.split("/")[0]);
    if (blocks.length && !rows.has(request)) others.add(request);
  }
  const wanted = byId("filter").value.trim();
  return [...rows].map(([request, row]) => ({ request, row }))
    .concat([...others].map((request) => ({ request, row: null })))
    .filter((entry) => !wanted || nameOf(entry.request).includes(wanted));
}

let allTableRows = false;

function showTables(step, place) {
  const target = clear(document.querySelector("#tables .groups"));
  byId("tables").hidden = meta.level === "counts";
  if (meta.level === "counts") return;
  const during = stateDuring(place);
  const entries = tableEntries(step, during);
  const shown = allTableRows ? entries : entries.slice(0, SHORT_ROWS);
  const copies = copyPlaces(step);
  if (meta.level !== "full")
    target.append(el("p", "aside", "What the forward pass read and wrote is not kept at level " +
                     meta.level + ": running and speculative blocks look like held ones."));
  meta.groups.forEach((group, i) => {
    const box = el("div", "group");
    const title = el("h3", "", "group " + i + " ");
    title.append(el("span", "aside", group.kind + ", " + counted(group.layers, "layer") +
                    ", " + counted(group.block_size, "token") + " a block" +
                    ((step.as || []).includes(i)
                      ? "; reads and writes are assumed: the graph replays arrays of an earlier step"
                      : "")));
    box.append(title);
    const scroll = el("div", "scroll");
    if (shown.length) scroll.append(groupTable(i, shown, during, copies, step.findings));
    else scroll.append(el("p", "aside", "no request holds a block"));
    box.append(scroll);
    target.append(box);
  });
  if (entries.length > SHORT_ROWS) {
    const button = el("button", "", allTableRows ? "show the first " + SHORT_ROWS + " requests"
      : "show all " + entries.length + " requests (" + SHORT_ROWS + " are shown)");
    button.addEventListener("click", () => { allTableRows = !allTableRows; show(current); });
    target.append(button);
  }
}

function showLegend() {
  const legend = byId("legend");
  const extra = ["running", "speculative", "held"].map((word) => {
    const role = ROLES.find((other) => other.word === word);
    return ["swatch " + word, IN_USE.includes(word) ? role.letter : "", word, role.words];
  });
  extra.push(["swatch", "▴▾", "read, written", "by the forward pass of this step"],
             ["swatch cached labelled", "c", "cached", "registered in the prefix cache"],
             ["swatch cached labelled", "c4/8", "cached, partial",
              "registered for tokens that end inside the block: here 4 of its 8"],
             ["swatch shared several", "×2", "shared", "held by several columns"],
             ["swatch changed", "", "changed", "changed in this step"],
             ["swatch", "→←", "copied", "source and destination of a copy in this step"],
             ["swatch worker", "w 5", "stale", "the worker's table has another block here: 5"],
             ["swatch null-block", "", "null block", "nothing is kept in this column"]);
  for (const [className, letter, words, title] of extra) {
    const item = el("span", "key");
    item.append(el("span", className, letter), el("span", "", words));
    item.title = title;
    legend.append(item);
  }
}
