// The panels of a step: those that are drawn, and tables of words and numbers.

const cellText = (value) =>
  value === null ? "" : value === true ? "yes" : value === false ? "no" : String(value);
const LONG = 30;  // characters that get a column of some width
const kindOf = (value) =>
  (typeof value === "number" ? "number" : cellText(value).length > LONG ? "long" : null);

// Values, each drawn as what it is.
const pieceList = (pieces) => el("ul", { class: "elements" }, ...pieces.map((piece) =>
  el("li", { class: piece.css, title: piece.words }, el("span", { text: piece.text }),
    piece.words ? spoken(" " + piece.words) : null)));

function contentTable(table) {
  const headings = table.head.map((text) => el("th", { scope: "col", text }));
  const cellOf = (value, i) => {
    const [tag, scope] = i === 0 ? ["th", "row"] : ["td", null];
    return Array.isArray(value) ? el(tag, { scope }, pieceList(value)) :
      el(tag, { scope, class: kindOf(value), text: cellText(value) });
  };
  const head = el("thead", {}, el("tr", {}, ...headings));
  const body = el("tbody", {}, ...table.rows.map((row) => el("tr", {}, ...row.map(cellOf))));
  const strips = (table.strips || []).filter((strip) => strip.items.length)
    .map((strip) => el("div", {}, el("span", { class: "dim", text: strip.name }),
      proportional(strip.name, strip.items)));
  if (!table.rows.length && strips.length)
    return el("div", {}, el("h4", { text: table.title }), ...strips);
  return el("div", {}, ...strips,
    titledTable(table.title, table.note, { class: "plain" }, head, body));
}

const DRAWN = {
  block_tables: drawBlockTables,
  state_copies: drawCopies,
};

function panelNodes(id, panel, about) {
  const nodes = (panel.notes || []).map((text) => el("p", { class: "dim", text }));
  if (panel.text) nodes.push(scroller("the step in words", el("pre", { text: panel.text })));
  if (DRAWN[id] && panel.grids !== undefined || panel.details)
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
