// Cells of blocks, block tables and their legend.

// The signs below a block's number.
const cellSigns = (cell) => el("span", { class: "signs" }, cell.signs,
  ...(cell.marks || []).flatMap(([text, kind]) =>
    [" ", el("span", { class: "mark mark-" + kind, text })]));

function cellBox(tag, cell, selected) {
  const box = el(tag, {
    class: "cell " + cell.css + (selected ? " selected" : ""),
    title: cell.words, "data-block": cell.block, "data-role": cell.role,
    "data-state": cell.state,
  });
  const seen = el("span", { "aria-hidden": "true" },
    el("span", { class: "number", text: cell.text }), cellSigns(cell));
  box.append(seen, spoken(cell.words + (selected ? ", this part is about it" : "")));
  return box;
}

// `about`: {request, group, column} of the part.
function gridTable(grid, group, about) {
  const head = el("tr", {}, el("th", { scope: "col", text: "request" }));
  for (let column = 0; column < grid.columns; ++column)
    head.append(el("th", { scope: "col", text: column }));
  const body = el("tbody");
  for (const row of grid.rows) {
    const line = el("tr", {}, el("th", { scope: "row" }, row.request,
      row.batch_row < 0 ? el("span", { class: "dim", text: " no row" }) : null));
    row.cells.forEach((cell, column) => line.append(cellBox("td", cell,
      row.request === about.request && group === about.group && column === about.column)));
    body.append(line);
  }
  return titledTable(grid.name, grid.words, { class: "blocks" }, el("thead", {}, head), body);
}

function drawBlockTables(panel, about) {
  const nodes = panel.grids.map((grid, group) => gridTable(grid, group, about));
  if (panel.worker) {
    nodes.push(el("h4", { text: "The worker's block tables" }),
      el("p", { class: "dim", text: panel.worker_note + "." }),
      ...panel.worker.map((grid, group) => gridTable(grid, group, about)));
  }
  return nodes;
}

function drawLegend(target, legend) {
  const roles = el("ul", { class: "legend" });
  for (const role of legend.roles)
    roles.append(el("li", {},
      el("span", { class: "swatch " + role.css, text: role.letter, "aria-hidden": "true" }),
      el("span", {}, el("b", { text: role.letter + ", " + role.name }), ": " + role.meaning)));
  const states = el("ul", { class: "legend" });
  for (const state of legend.states)
    states.append(el("li", {},
      el("span", { class: "swatch", "aria-hidden": "true" },
        el("span", { class: "mark " + state.css, text: state.mark || " " })),
      el("span", {}, el("b", { text: state.name }), ": " + state.meaning)));
  const signs = el("ul", { class: "legend" });
  for (const { sign, meaning } of legend.signs)
    signs.append(el("li", {}, el("b", { text: sign }), el("span", { text: meaning })));
  target.append(
    el("p", { text: "A cell has the block's number and, below it, the letter of its role." }),
    roles, states, signs);
}
