// Axes, ticks and what a drawing shares; drawings are SVG in pixels of the page.

const SVG = "http://www.w3.org/2000/svg";

function shape(parent, tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  parent.append(element);
  return element;
}

// Ticks at round numbers from min to max, about `count` of them and at least `least` apart.
function ticksOf(min, max, count, least = 0) {
  const raw = Math.max((max - min) / Math.max(count, 1), least);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= raw * 0.999);
  const values = [];
  for (let n = Math.ceil(min / step - 1e-9); n * step <= max + step * 1e-9; ++n)
    values.push(n * step);
  return { step, values };
}

// Maps values from min..max to pixels from..to.
function scaleOf(min, max, from, to) {
  const scale = (value) => from + (value - min) / (max - min) * (to - from);
  scale.value = (pixel) => min + (pixel - from) / (to - from) * (max - min);
  return Object.assign(scale, { min, max, from, to });
}

// An empty drawing as wide as its place.
function drawing(place, height, label) {
  const width = Math.max(place.clientWidth, 280);
  clear(place);
  const svg = shape(place, "svg", { viewBox: `0 0 ${width} ${height}`, width, height,
                                    role: "group", "aria-label": label });
  return { svg, width, height };
}

function drawBottomAxis(svg, scale, edge, ticks, text, title) {
  const { left, right, bottom: y } = edge;
  shape(svg, "line", { class: "axis", x1: left, x2: right, y1: y, y2: y });
  for (const value of ticks.values) {
    const x = scale(value);
    shape(svg, "line", { class: "axis", x1: x, x2: x, y1: y, y2: y + 4 });
    shape(svg, "text", { class: "tick", x, y: y + 16, "text-anchor": "middle" }, text(value));
  }
  shape(svg, "text", { class: "axis-title", x: (left + right) / 2, y: y + 34,
                       "text-anchor": "middle" }, title);
}

// On the left with lines across; `side`: "left" or "right".
function drawSideAxis(svg, scale, edge, ticks, text, title, side) {
  const out = side === "left" ? -1 : 1;
  const x = edge[side];
  for (const value of ticks.values) {
    const y = scale(value);
    if (side === "left")
      shape(svg, "line", { class: "grid-line", x1: x, x2: edge.right, y1: y, y2: y });
    shape(svg, "line", { class: "axis", x1: x, x2: x + 4 * out, y1: y, y2: y });
    shape(svg, "text", { class: "tick", x: x + 7 * out, y: y + 4,
                         "text-anchor": out < 0 ? "end" : "start" }, text(value));
  }
  shape(svg, "line", { class: "axis", x1: x, x2: x, y1: edge.bottom, y2: edge.top });
  shape(svg, "text", { class: "axis-title", x, y: edge.top - 12,
                       "text-anchor": out < 0 ? "start" : "end",
                       dx: out < 0 ? -40 : 40 }, title);
}

const TIME_UNITS = [[3600e6, "h"], [60e6, "min"], [1e6, "s"], [1e3, "ms"]];

// Ticks and texts for a time axis of `span` us.
function timeAxis(span, count) {
  const [unit, name] = TIME_UNITS.find(([unit]) => span >= 3 * unit) || TIME_UNITS.at(-1);
  const inUnits = ticksOf(0, span / unit, count);
  return {
    ticks: { step: inUnits.step, values: inUnits.values.map((value) => value * unit) },
    text: (time) => shortNumber(time / unit, inUnits.step),
    exact: (time) => fixed(time / unit, inUnits.step < 1 ? 2 : 1) + " " + name,
    title: "simulated time in " + name,
  };
}

function keyOf(parent, className, letter, words) {
  const item = el("span", "key");
  item.append(el("span", "swatch " + className, letter), el("span", "", words));
  parent.append(item);
}

// The box beside the pointer or a focused point.
function showTip(x, y, lines) {
  const tip = clear(byId("tip"));
  lines.forEach(([name, value], i) => {
    const line = el("div", i === 0 ? "tip-title" : "");
    line.append(el("span", "", name));
    if (value !== undefined) line.append(el("span", "tip-value", value));
    tip.append(line);
  });
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, x + 14 + box.width > room ? x - 14 - box.width : x + 14) + "px";
  tip.style.top = Math.max(4, Math.min(y + 14, window.innerHeight - box.height - 4)) + "px";
}

function hideTip() { byId("tip").hidden = true; }
