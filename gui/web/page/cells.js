// Cells of blocks, block tables and their legend.

let legend = null;  // of the lesson's data
const roleOf = (word) => legend.roles.find((role) => role.role === word);
const stateOf = (word) => legend.states.find((state) => state.state === word);

function cellWords(cell) {
  const words = [cell.block === 0 ? "null block" : "block " + cell.block];
  if (cell.block !== 0) words.push(roleOf(cell.role).name, stateOf(cell.state).name);
  if (cell.changed) words.push("changed in this step");
  if (cell.use) words.push(cell.use);
  return words.join(", ");
}

// The signs below a block's number: its role's letter, what the step does there, what is known.
function cellSigns(cell) {
  const signs = el("span", { class: "signs" });
  signs.append(roleOf(cell.role).letter);
  if (cell.read || cell.written)
    signs.append(" " + (cell.read ? "r" : "") + (cell.written ? "w" : ""));
  const mark = cell.block === 0 ? "" : stateOf(cell.state).mark;
  if (mark) signs.append(" ", el("span", { class: "mark mark-" + cell.state, text: mark }));
  if (cell.changed) signs.append(" ", el("span", { class: "mark mark-changed", text: "◥" }));
  return signs;
}

function cellBox(tag, cell, selected) {
  const box = el(tag, {
    class: "cell role-" + cell.role + " pattern-" + roleOf(cell.role).pattern +
      (selected ? " selected" : ""),
    title: cellWords(cell), "data-block": cell.block, "data-role": cell.role,
    "data-state": cell.state,
  });
  const seen = el("span", { "aria-hidden": "true" },
    el("span", { class: "number", text: cell.text }), cellSigns(cell));
  box.append(seen, spoken(cellWords(cell) + (selected ? ", this part is about it" : "")));
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

function drawLegend(target) {
  const roles = el("ul", { class: "legend" });
  for (const role of legend.roles)
    roles.append(el("li", {},
      el("span", { class: "swatch role-" + role.role + " pattern-" + role.pattern,
                   text: role.letter, "aria-hidden": "true" }),
      el("span", {}, el("b", { text: role.letter + ", " + role.name }), ": " + role.meaning)));
  const states = el("ul", { class: "legend" });
  for (const state of legend.states)
    states.append(el("li", {},
      el("span", { class: "swatch", "aria-hidden": "true" },
        el("span", { class: "mark mark-" + state.state, text: state.mark || " " })),
      el("span", {}, el("b", { text: state.name }), ": " + state.meaning)));
  const signs = el("ul", { class: "legend" });
  const others = [["◥", "Changed in this step."],
    ["r", "The step's forward pass starts from the state here."],
    ["w", "The forward pass leaves a state, or keys and values, here."],
    ...legend.signs.map((sign) => [sign.sign, sign.meaning])];
  for (const [sign, meaning] of others)
    signs.append(el("li", {}, el("b", { text: sign }), el("span", { text: meaning })));
  target.append(
    el("p", { text: "A cell has the block's number and, below it, the letter of its role." }),
    roles, states, signs);
}
