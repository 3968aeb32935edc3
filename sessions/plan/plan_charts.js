// Memory and hits over time of the selected combination.

// Classes of the areas: of the kinds of blocks, then of those that are cached and free. Each has a
// pattern or a lightness of its own.
const AREAS = ["attention", "state", "drafts", "snapshots", "cached"];
const KIND_WORDS = [...data.kinds, "cached and free"];

// Patterns of areas, as the window draws what these blocks are.
function addPatterns(svg) {
  const defs = shape(svg, "defs", {});
  const pattern = (id, size, add) => {
    const made = shape(defs, "pattern", { id, width: size, height: size,
                                          patternUnits: "userSpaceOnUse" });
    shape(made, "rect", { class: id + "-back", width: size, height: size });
    add(made);
  };
  pattern("fill-drafts", 8, (to) => {
    shape(to, "path", { class: "fill-drafts-line", d: "M-2,2L2,-2M0,8L8,0M6,10L10,6" });
  });
  for (const [id, r] of [["fill-snapshots", 1.2], ["fill-cached", 1.5]])
    pattern(id, 7, (to) => shape(to, "circle", { class: id + "-dot", cx: 3.5, cy: 3.5, r }));
}

// A step line through the pieces: [[x, y], ...] from the left, two corners a piece.
function stepsOf(pieces, x, y) {
  return pieces.flatMap((piece, p) => [[x(piece.start), y(p)], [x(piece.end), y(p)]]);
}

function pathOf(corners) {
  return corners.map(([x, y], n) => (n ? "L" : "M") + x.toFixed(1) + "," + y.toFixed(1)).join("");
}

// Shows the moment under the pointer, or that the arrow keys are at. `tip(p)` gives the lines.
function followMoments(svg, pieces, x, edge, tip) {
  const line = shape(svg, "line", { class: "moment", y1: edge.top, y2: edge.bottom, hidden: "" });
  let at = 0;
  const show = (p, clientX, clientY) => {
    at = Math.max(0, Math.min(p, pieces.length - 1));
    const middle = x((pieces[at].start + pieces[at].end) / 2);
    line.setAttribute("x1", middle);
    line.setAttribute("x2", middle);
    line.removeAttribute("hidden");
    const box = svg.getBoundingClientRect();
    showTip(clientX ?? box.left + middle, clientY ?? box.top + edge.top, tip(at));
  };
  const hide = () => {
    line.setAttribute("hidden", "");
    hideTip();
  };
  svg.setAttribute("tabindex", 0);
  svg.addEventListener("pointermove", (event) => {
    const time = x.value(event.clientX - svg.getBoundingClientRect().left);
    const later = pieces.findIndex((piece) => piece.end > time);
    if (time < x.min || time > x.max) hide();
    else show(later < 0 ? pieces.length - 1 : later, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("focusout", hide);
  svg.addEventListener("keydown", (event) => {
    const keys = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: pieces.length - 1 };
    const to = keys[event.key];
    if (to === undefined) return;
    show(to);
    event.preventDefault();
  });
}

function drawMemory(result, pieces) {
  const { svg, width, height } = drawing(byId("memory-drawing"), 300,
      "blocks over time of " + result.name + ": arrow keys go from moment to moment");
  addPatterns(svg);
  const edge = { left: 58, right: width - 58, top: 34, bottom: height - 44 };
  const pool = result.num_blocks - 1;  // without the null block
  const x = scaleOf(pieces[0].start, pieces.at(-1).end, edge.left, edge.right);
  const y = scaleOf(0, pool * 1.08, edge.bottom, edge.top);
  const ticks = ticksOf(0, y.max, 5);
  const unit = sizeUnit(pool * result.block_bytes);
  const mostSize = y.max * result.block_bytes / unit.bytes;
  const sizeTicks = ticksOf(0, mostSize, 5);
  drawSideAxis(svg, y, edge, ticks, (value) => shortNumber(value, ticks.step), "blocks", "left");
  const below = pieces.map(() => 0);
  AREAS.forEach((name, kind) => {
    const floor = [...below];
    pieces.forEach((piece, p) => { below[p] += piece.counts[kind]; });
    if (!pieces.some((piece) => piece.counts[kind] > 0)) return;
    const top = stepsOf(pieces, x, (p) => y(below[p]));
    const bottom = stepsOf(pieces, x, (p) => y(floor[p])).reverse();
    shape(svg, "path", { class: "area " + name, d: pathOf([...top, ...bottom]) + "Z" });
    shape(svg, "path", { class: "area-edge " + name, d: pathOf(top) });
  });
  shape(svg, "line", { class: "pool", x1: edge.left, x2: edge.right, y1: y(pool), y2: y(pool) });
  const poolText = "pool: " + grouped(pool) + " blocks, " + unit.text(pool * result.block_bytes);
  shape(svg, "text", { class: "point-label", x: edge.right - 4, y: y(pool) - 5,
                       "text-anchor": "end" }, poolText);
  drawSideAxis(svg, scaleOf(0, mostSize, edge.bottom, edge.top), edge, sizeTicks,
               (value) => shortNumber(value, sizeTicks.step), unit.name, "right");
  const time = timeAxis(pieces.at(-1).end, width / 90);
  drawBottomAxis(svg, x, edge, time.ticks, time.text, time.title);
  followMoments(svg, pieces, x, edge, (p) => {
    const { start, counts, running } = pieces[p];
    const used = counts.reduce((a, b) => a + b);
    const text = (count) =>
      fixed(count, 1) + " blocks, " + unit.text(count * result.block_bytes);
    return [["from " + time.exact(start)],
            ...AREAS.map((_, kind) => [KIND_WORDS[kind], text(counts[kind])]).reverse(),
            ["free, without content", text(Math.max(0, pool - used))],
            ["running requests", fixed(running, 1)]];
  });
  const keys = clear(byId("memory-keys"));
  AREAS.forEach((name, kind) => {
    const steps = pieces.reduce((sum, piece) => sum + piece.steps, 0);
    const blocks = pieces.reduce((sum, piece) => sum + piece.counts[kind] * piece.steps, 0) / steps;
    keyOf(keys, "area " + name, "", KIND_WORDS[kind] + " " + fixed(blocks, 1));
  });
  keys.append(el("span", "aside", "blocks, average over steps"));
}

// The waiting queue, under the blocks and at their times; nothing where none waits.
function drawQueue(result, pieces) {
  const most = Math.max(...pieces.map(({ waiting }) => waiting));
  byId("queue-drawing").hidden = most === 0;
  if (most === 0) return;
  const { svg, width, height } = drawing(byId("queue-drawing"), 150,
      "waiting requests over time of " + result.name + ": arrow keys go from moment to moment");
  const edge = { left: 58, right: width - 58, top: 34, bottom: height - 44 };
  const x = scaleOf(pieces[0].start, pieces.at(-1).end, edge.left, edge.right);
  const y = scaleOf(0, most * 1.08, edge.bottom, edge.top);
  const ticks = ticksOf(0, y.max, 2);
  drawSideAxis(svg, y, edge, ticks, (value) => shortNumber(value, ticks.step), "requests that wait",
               "left");
  const corners = [[x(x.min), y(0)], ...stepsOf(pieces, x, (p) => y(pieces[p].waiting)),
                   [x(x.max), y(0)]];
  shape(svg, "path", { class: "area waiting", d: pathOf(corners) + "Z" });
  const time = timeAxis(pieces.at(-1).end, width / 90);
  drawBottomAxis(svg, x, edge, time.ticks, time.text, time.title);
  followMoments(svg, pieces, x, edge, (p) => [["from " + time.exact(pieces[p].start)],
                                              ["waiting requests", fixed(pieces[p].waiting, 1)],
                                              ["running requests", fixed(pieces[p].running, 1)]]);
}

// Cumulative values at piece starts and at the end: [[time, value], ...].
function sumsOf(pieces, key) {
  return [[pieces[0].start, 0], ...pieces.map((piece) => [piece.end, piece[key]])];
}

function drawHits(result, pieces) {
  const { svg, width, height } = drawing(byId("hits-drawing"), 300,
      "tokens over time of " + result.name + ": arrow keys go from moment to moment");
  const edge = { left: 58, right: width - 20, top: 34, bottom: height - 44 };
  const other = recommended === null || selected === recommended ? null : results[recommended];
  const others = other ? piecesOf(other) : [];
  const all = [...pieces, ...others];
  const starts = all.map(({ start }) => start), ends = all.map(({ end }) => end);
  const x = scaleOf(Math.min(...starts), Math.max(...ends), edge.left, edge.right);
  const mostTokens = Math.max(1, ...all.map(({ prompts }) => prompts));
  const y = scaleOf(0, mostTokens * 1.05, edge.bottom, edge.top);
  const ticks = ticksOf(0, y.max, 5);
  drawSideAxis(svg, y, edge, ticks, (value) => shortNumber(value, ticks.step), "tokens", "left");
  const line = (from, key, className) => shape(svg, "path", {
    class: "sum " + className, d: pathOf(sumsOf(from, key).map(([t, v]) => [x(t), y(v)])) });
  if (other) {
    line(others, "prompts", "prompts compared");
    line(others, "hits", "served compared");
  }
  for (const [key, className, words] of [["prompts", "prompts", "prompts"],
                                         ["hits", "served", "hits"]]) {
    line(pieces, key, className);
    const last = pieces.at(-1);
    shape(svg, "text", { class: "point-label", x: x(last.end), y: y(last[key]) - 7,
                         "text-anchor": x(last.end) > width / 2 ? "end" : "start" }, words);
  }
  const time = timeAxis(x.max, width / 90);
  drawBottomAxis(svg, x, edge, time.ticks, time.text, time.title);
  followMoments(svg, pieces, x, edge, (p) => {
    const { end, hits, prompts } = pieces[p];
    const lines = [["until " + time.exact(end)], ["prompt tokens", grouped(prompts)],
                   ["hit tokens", grouped(hits)],
                   ["share", (prompts ? 100 * hits / prompts : 0).toFixed(1) + " %"]];
    const there = others.findLast((piece) => piece.end <= end);
    if (other)
      lines.push(["★ prompt tokens", grouped(there ? there.prompts : 0)],
                 ["★ hit tokens", grouped(there ? there.hits : 0)]);
    return lines;
  });
  const keys = clear(byId("hits-keys"));
  keyOf(keys, "line prompts", "", "prompt tokens");
  keyOf(keys, "line served", "", "hit tokens");
  if (other) {
    keyOf(keys, "line prompts compared", "", "prompt tokens, ★ recommended");
    keyOf(keys, "line served compared", "", "hit tokens, ★ recommended");
  } else if (recommended !== null) {
    keys.append(el("span", "aside", "this is the recommended one"));
  }
}

function drawCharts() {
  const result = results[selected];
  const pieces = piecesOf(result);
  for (const id of ["memory", "hits"]) byId(id).hidden = pieces.length === 0;
  if (pieces.length === 0) return;
  drawMemory(result, pieces);
  drawQueue(result, pieces);
  drawHits(result, pieces);
}
