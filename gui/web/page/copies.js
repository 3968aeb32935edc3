// State copies: arrows between the columns of a request's block table, and the conv window.

const CELL = 46, HIGH = 30, ARC = 34, SMALL = 16;

const svgText = (x, y, text, attributes) =>
  svgEl("text", { x, y, "text-anchor": "middle", text, ...attributes });

const head = (...corners) =>
  svgEl("polygon", { points: corners.map((corner) => corner.join(",")).join(" ") });

// An arrow that bends away from the cells: direction -1 above them, 1 below.
function arc(from, to, y, direction, kind) {
  const loop = from === to ? 12 : 0;
  const height = y + direction * ARC;
  const tip = y + direction * 7;
  return svgEl("g", { class: "arrow " + kind },
    svgEl("path", { d: `M ${from - loop} ${y} C ${from - 2 * loop} ${height} ` +
      `${to + 2 * loop} ${height} ${to + loop} ${tip}` }),
    head([to + loop, y], [to + loop - 5, tip], [to + loop + 5, tip]));
}

function svgCell(x, y, width, cell) {
  return svgEl("g", {},
    svgEl("rect", { class: "role-" + cell.role, x, y, width, height: HIGH, rx: 3 }),
    svgText(x + width / 2, y + 20,
      cell.label, { class: "on-" + cell.role }));
}

function columnsDrawing(drawing) {
  const slots = Math.max(...drawing.cells.map((cell) => cell.slot)) + 1 + (drawing.goes_on ? 1 : 0);
  const top = ARC + SMALL;
  const width = slots * CELL + 4, height = top + HIGH + ARC + 4;
  const centre = (slot) => slot * CELL + CELL / 2;
  const svg = svgEl("svg", { class: "drawing", role: "img", "aria-label": drawing.words, width,
                             height, viewBox: `0 0 ${width} ${height}` });
  for (const { column, slot, cell } of drawing.cells)
    svg.append(svgText(centre(slot), top - 4, column, { class: "small" }),
      svgCell(slot * CELL + 2, top, CELL - 4, cell));
  if (drawing.goes_on) svg.append(svgText(centre(slots - 1), top + 20, "…", { class: "small" }));
  const to = centre(drawing.destination);
  if (drawing.temporal !== undefined)
    svg.append(arc(centre(drawing.temporal), to, top - SMALL, -1, "temporal"));
  if (drawing.conv !== undefined)
    svg.append(arc(centre(drawing.conv), to, top + HIGH + 2, 1, "conv"));
  return svg;
}

// Source positions above, destination positions below, a line for each that moves.
function convDrawing(drawing) {
  const { conv_source: source, conv_destination: destination, bias } = drawing;
  const gap = 30, left = 86;
  const width = left + source.length * CELL, height = 2 * HIGH + gap + SMALL + 2;
  const svg = svgEl("svg", { class: "drawing", role: "img", width, height,
                             "aria-label": drawing.conv_words,
                             viewBox: `0 0 ${width} ${height}` });
  const centre = (i) => left + i * CELL + CELL / 2;
  const low = SMALL + HIGH + gap;
  const row = (positions, y, label) => {
    svg.append(svgEl("text", { x: 0, y: y + 20, class: "small", text: label }));
    positions.forEach((at, i) => svg.append(svgEl("g", { class: at.copied ? "moves" : "stays" },
      svgEl("rect", { x: centre(i) - CELL / 2 + 2, y, width: CELL - 4, height: HIGH, rx: 3 }),
      svgText(centre(i), y + 20, at.sign))));
  };
  source.forEach((at, i) => svg.append(svgText(centre(i), SMALL - 4, i, { class: "small" })));
  row(source, SMALL, "source");
  row(destination, low, "destination");
  destination.forEach((at, i) => {
    if (at.copied) svg.append(svgEl("g", { class: "arrow conv" },
      svgEl("path", { d: `M ${centre(i + bias)} ${SMALL + HIGH} L ${centre(i)} ${low - 6}` }),
      head([centre(i), low], [centre(i) - 5, low - 7], [centre(i) + 5, low - 7])));
  });
  return svg;
}

function blockCopyDrawing(copy) {
  const wide = 110, gap = 56, top = SMALL;
  const svg = svgEl("svg", { class: "drawing", role: "img", "aria-label": copy.words,
                             width: 2 * wide + gap, height: top + HIGH + 2,
                             viewBox: `0 0 ${2 * wide + gap} ${top + HIGH + 2}` });
  const y = top + HIGH / 2;
  svg.append(svgText(wide / 2, 11, copy.source_place, { class: "small" }),
    svgText(wide + gap + wide / 2, 11, copy.destination_place, { class: "small" }),
    svgCell(0, top, wide, copy.source), svgCell(wide + gap, top, wide, copy.destination),
    svgEl("g", { class: "arrow temporal" },
      svgEl("path", { d: `M ${wide + 3} ${y} L ${wide + gap - 9} ${y}` }),
      head([wide + gap - 2, y], [wide + gap - 9, y - 5], [wide + gap - 9, y + 5])));
  return svg;
}

const copyKey = (drawing) => el("ul", { class: "key" }, ...drawing.key.map(([kind, words]) =>
  el("li", {}, el("span", { class: "line " + kind, "aria-hidden": "true" }), words)));

function drawDetail(detail) {
  const nodes = [el("h4", { text: detail.title })];
  const drawing = detail.drawing;
  if (drawing) {
    nodes.push(el("p", { class: "dim", text: drawing.group }),
      scroller("columns of the copy", columnsDrawing(drawing)), copyKey(drawing));
    if (drawing.conv !== undefined)
      nodes.push(scroller("conv window", convDrawing(drawing)),
        el("p", { class: "dim", text: drawing.conv_signs }));
    for (const fault of drawing.faults)
      nodes.push(el("p", { class: "wrong", text: "Wrong: " + fault }));
    if (drawing.note) nodes.push(el("p", { class: "dim", text: drawing.note }));
  }
  for (const copy of detail.block_copies || [])
    nodes.push(scroller("copy of a block", blockCopyDrawing(copy)),
      el("p", { text: copy.words + " (" + copy.group + ")" }));
  if (detail.formula.length)
    nodes.push(el("ul", { class: "formula" }, ...detail.formula.map((text) => el("li", { text }))));
  nodes.push(el("p", { class: "dim", text: "Rule: " + detail.source }));
  return nodes;
}

function drawCopies(panel) {
  const nodes = (panel.details || []).flatMap(drawDetail);
  if (panel.letters && nodes.length) nodes.push(el("p", { class: "dim", text: panel.letters }));
  return nodes;
}
