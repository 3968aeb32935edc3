// The panels of a step: those that are drawn, and tables of words and numbers.

const cellText = (value) =>
  value === null ? "" : value === true ? "yes" : value === false ? "no" : String(value);
const LONG = 30;  // characters that get a column of some width
const kindOf = (value) =>
  (typeof value === "number" ? "number" : cellText(value).length > LONG ? "long" : null);

function contentTable(table) {
  const headings = table.head.map((text) => el("th", { scope: "col", text }));
  const cellOf = (value, i) => el(i === 0 ? "th" : "td", {
    scope: i === 0 ? "row" : null, class: kindOf(value), text: cellText(value) });
  const head = el("thead", {}, el("tr", {}, ...headings));
  const body = el("tbody", {}, ...table.rows.map((row) => el("tr", {}, ...row.map(cellOf))));
  return titledTable(table.title, table.note, { class: "plain" }, head, body);
}

const DRAWN = {
  block_tables: drawBlockTables,
  state_copies: drawCopies,
  batch_rows: drawAxis,
  graph_padding: drawPadding,
};

function panelNodes(id, panel, about) {
  const nodes = (panel.notes || []).map((text) => el("p", { class: "dim", text }));
  if (panel.text) nodes.push(scroller("the step in words", el("pre", { text: panel.text })));
  if (DRAWN[id] && panel.grids !== undefined || panel.details || panel.axis || panel.bars)
    nodes.push(...DRAWN[id](panel, about));
  for (const table of panel.tables || []) nodes.push(contentTable(table));
  return nodes;
}

// A panel that opens and closes; it is drawn when it is open.
function panelBox({ id, title, help }, panel, about, open, toggled) {
  const body = el("div", { class: "body" });
  const draw = () => body.replaceChildren(el("p", { class: "dim", text: help + "." }),
    ...panelNodes(id, panel, about));
  const box = el("details", { class: "panel", "data-panel": id },
    el("summary", {}, el("h3", { text: title })), body);
  if (open) {
    box.open = true;
    draw();
  }
  box.addEventListener("toggle", () => {
    if (box.open && !body.firstChild) draw();
    toggled(box.open);
    noteScrollers(box);
  });
  return box;
}
