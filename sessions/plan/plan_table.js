// All figures of all combinations that ran, in a table that makes its rows as they are asked for.

const FIRST_ROWS = 100;
const MORE_ROWS = 400;
const rows = { column: null, descending: false, filter: "", most: FIRST_ROWS };

// Columns: the mark and number, the settings, the figures. `value` orders, `text` shows.
const tableColumns = [
  ...data.axes.map((name, a) => ({ name, left: true, title: "setting that was tried",
                                   value: (i) => results[i].values[a],
                                   text: (i) => results[i].values[a] })),
  ...columnsInOrder().map((c) => ({ name: columns[c].name, title: columns[c].words,
                                    more: columns[c].more === true,
                                    goal: goals.includes(c),
                                    value: (i) => results[i].figures[c],
                                    text: (i) => figureText(results[i], c) })),
];

function columnsInOrder() {
  return [...goals, ...[...columns.keys()].filter((c) => !goals.includes(c))];
}

function compareValues(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

function rowOrder() {
  const words = rows.filter.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const text = (i) => (results[i].name + " " + markWords(i)).toLowerCase();
  const found = ran.filter((i) => words.every((word) => text(i).includes(word)));
  if (rows.column === null) {
    const place = new Map(data.front.map((i, n) => [i, n]));
    const rank = (i) => (place.has(i) ? place.get(i) : place.size + i);
    return found.sort((a, b) => rank(a) - rank(b));
  }
  const { value } = tableColumns[rows.column];
  const sign = rows.descending ? -1 : 1;
  return found.sort((a, b) => sign * compareValues(value(a), value(b)) || a - b);
}

function sortBy(c) {
  const column = tableColumns[c];
  rows.descending = rows.column === c ? !rows.descending : column.more === true;
  rows.column = c;
  drawRows();
  byId("rows").querySelectorAll("thead button")[c].focus();
}

function classOf(column) { return column.left ? "left" : column.goal ? "goal" : ""; }

function headOf() {
  const head = el("tr");
  const corner = el("th", "left mark", "combination");
  corner.scope = "col";
  head.append(corner);
  tableColumns.forEach((column, c) => {
    const sorted = rows.column === c;
    const cell = el("th", classOf(column));
    cell.scope = "col";
    const [order, arrow] = !sorted ? ["none", ""] : rows.descending ? ["descending", " ▼"]
                                                                    : ["ascending", " ▲"];
    cell.setAttribute("aria-sort", order);
    const button = el("button", "", column.name + arrow);
    button.title = column.title + ": sort";
    button.addEventListener("click", () => sortBy(c));
    cell.append(button);
    head.append(cell);
  });
  return head;
}

function rowOf(i) {
  const row = el("tr");
  row.dataset.result = i;
  const first = el("th", "left mark");
  first.scope = "row";
  const button = el("button", "", (grouped(i + 1) + " " + markOf(i)).trim());
  button.title = results[i].name + ": show its charts";
  const label = [results[i].name, markWords(i)].filter((text) => text !== "");
  button.setAttribute("aria-label", label.join(", "));
  first.append(button, el("span", "words", markWords(i)));
  row.append(first);
  for (const column of tableColumns)
    row.append(el("td", classOf(column), column.text(i)));
  return row;
}

function drawRows() {
  const order = rowOrder();
  const shown = order.slice(0, rows.most);
  const made = el("table", "grid");
  made.createTHead().append(headOf());
  made.createTBody().append(...shown.map(rowOf));
  clear(byId("rows")).append(made);
  const filtered = order.length < ran.length ? " of " + grouped(ran.length) : "";
  byId("shown-rows").textContent = shown.length < order.length
    ? "the first " + grouped(shown.length) + " of " + counted(order.length, "combination")
    : grouped(order.length) + filtered + (ran.length === 1 ? " combination" : " combinations");
  const more = Math.min(order.length - shown.length, MORE_ROWS);
  byId("more-rows").hidden = more === 0;
  byId("more-rows").textContent = "show " + grouped(more) + " more";
  markRow();
}

function markRow() {
  for (const row of byId("rows").querySelectorAll("tbody tr")) {
    const isSelected = Number(row.dataset.result) === selected;
    row.classList.toggle("selected", isSelected);
    if (isSelected) row.setAttribute("aria-current", "true");
    else row.removeAttribute("aria-current");
  }
}

function showRefused() {
  const refused = results.filter((result) => result.refused !== undefined);
  byId("refused").hidden = refused.length === 0;
  const shown = refused.slice(0, FIRST_ROWS);
  byId("refused-rows").append(table([
    { name: "combination", left: true, text: (result) => result.name },
    { name: "reason", left: true, text: (result) => result.refused },
  ], shown));
  if (shown.length < refused.length)
    byId("refused-more").textContent = "and " + grouped(refused.length - shown.length) + " more";
}

function startTable() {
  byId("filter").addEventListener("input", (event) => {
    rows.filter = event.target.value;
    rows.most = FIRST_ROWS;
    drawRows();
  });
  byId("more-rows").addEventListener("click", () => {
    rows.most += MORE_ROWS;
    drawRows();
  });
  byId("rows").addEventListener("click", (event) => {
    const row = event.target.closest("tbody tr");
    if (row) select(Number(row.dataset.result));
  });
  drawRows();
  showRefused();
}
