// The scatter of two figures. One point has the keyboard's focus: the arrow keys move it.

const scatter = { x: 0, y: 0, places: [], focused: null };  // places: [{ i, x, y, element }]
const NEAR = 14;   // pixels from a point that are still on it
const MANY = 400;  // from so many combinations on, points are small
const INSET = 18;  // pixels between an axis and the points nearest to it

function figureRange(c) {
  const values = ran.map((i) => results[i].figures[c]);
  const min = values.reduce((a, b) => Math.min(a, b), Infinity);
  const max = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const least = columns[c].share ? 0.1 : 1;
  const room = max > min ? 0 : Math.max(Math.abs(max) * 0.1, least);
  return [min >= 0 ? Math.max(0, min - room) : min - room, max + room];
}

function figureTitle(c) {
  const { name, kind, more } = columns[c];
  return kind === "goal" ? name + (more ? " (more is better)" : " (less is better)") : name;
}

function figureTick(c, step) {
  if (!columns[c].share) return (value) => shortNumber(value, step);
  const digits = Math.max(0, -Math.floor(Math.log10(step * 100) + 1e-9));
  return (value) => (value * 100).toFixed(digits) + " %";
}

// Shapes differ as colours do: a star, a diamond, a ring.
function pointPath(i) {
  if (i === recommended) {
    const corners = [...Array(10).keys()].map((n) => {
      const radius = n % 2 ? 4.2 : 10;
      const angle = Math.PI * (n / 5 - 0.5);
      return (radius * Math.cos(angle)).toFixed(2) + "," + (radius * Math.sin(angle)).toFixed(2);
    });
    return "M" + corners.join("L") + "Z";
  }
  if (front.has(i)) return "M0,-7.5L7.5,0L0,7.5L-7.5,0Z";
  const r = ran.length > MANY ? 2.5 : 4;
  return `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`;
}

function pointLabel(i) {
  const result = results[i];
  const values = [scatter.x, scatter.y].map((c) => columns[c].name + " " + figureText(result, c));
  return [result.name, ...values, markWords(i)].filter((text) => text !== "").join(", ");
}

// The line is that of the front where both figures are what the front was made for.
function drawFrontLine(svg) {
  const axes = [scatter.x, scatter.y];
  if (!goals.every((goal) => axes.includes(goal))) return;
  const onFront = scatter.places.filter(({ i }) => front.has(i));
  if (onFront.length < 2) return;
  const corners = onFront.sort((a, b) => a.x - b.x || a.y - b.y).map(({ x, y }) => x + "," + y);
  shape(svg, "polyline", { class: "front-line", points: corners.join(" ") });
}

function drawRecommendedLabel(svg, width) {
  const place = scatter.places.find(({ i }) => i === recommended);
  if (!place) return;
  const before = place.x > width / 2;
  const label = shape(svg, "text", { class: "point-label", x: place.x + (before ? -16 : 16),
                                     y: place.y + (place.y < 60 ? 18 : -8),
                                     "text-anchor": before ? "end" : "start" }, "recommended");
  const box = label.getBBox();  // room of its own, where points are dense
  label.before(shape(svg, "rect", { class: "label-room", x: box.x - 3, y: box.y - 1,
                                    width: box.width + 6, height: box.height + 2, rx: 3 }));
}

function drawScatter() {
  const { svg, width, height } = drawing(byId("scatter-drawing"), 380,
                                         "combinations: arrow keys go from point to point");
  const edge = { left: 62, right: width - 20, top: 34, bottom: height - 44 };
  const x = scaleOf(...figureRange(scatter.x), edge.left + INSET, edge.right - INSET);
  const y = scaleOf(...figureRange(scatter.y), edge.bottom - INSET, edge.top + INSET);
  const ticks = (scale, c, count) =>
    ticksOf(scale.min, scale.max, count, columns[c].digits === 0 ? 1 : 0);
  const xTicks = ticks(x, scatter.x, width / 110), yTicks = ticks(y, scatter.y, 6);
  drawSideAxis(svg, y, edge, yTicks, figureTick(scatter.y, yTicks.step),
               figureTitle(scatter.y), "left");
  drawBottomAxis(svg, x, edge, xTicks, figureTick(scatter.x, xTicks.step), figureTitle(scatter.x));
  scatter.places = ran.map((i) => ({ i, x: x(results[i].figures[scatter.x]),
                                     y: y(results[i].figures[scatter.y]) }));
  drawFrontLine(svg);
  const rank = (i) => (i === recommended ? 2 : front.has(i) ? 1 : 0);  // the important ones on top
  const inOrder = [...scatter.places].sort((a, b) => rank(a.i) - rank(b.i));
  for (const place of inOrder) {
    const { i } = place;
    place.element = shape(svg, "path", {
      class: "point" + (i === recommended ? " recommended" : front.has(i) ? " front" : ""),
      d: pointPath(i), transform: `translate(${place.x.toFixed(1)} ${place.y.toFixed(1)})`,
      role: "button", tabindex: -1, "aria-label": pointLabel(i), "data-result": i });
  }
  drawRecommendedLabel(svg, width);
  scatter.ring = shape(svg, "circle", { class: "ring", r: 12 });
  scatter.places.sort((a, b) => a.x - b.x || a.y - b.y);  // the order of the arrow keys
  markPoint();
}

// The ring around the selected point, which is also where Tab arrives.
function markPoint() {
  for (const { i, x, y, element } of scatter.places) {
    element.setAttribute("aria-pressed", i === selected);
    element.setAttribute("tabindex", i === selected ? 0 : -1);
    if (i !== selected) continue;
    scatter.ring.setAttribute("cx", x);
    scatter.ring.setAttribute("cy", y);
  }
}

function tipOfPoints(x, y, at) {
  const { i } = at[0];
  const lines = [[(markOf(i) + " " + results[i].name).trim()]];
  for (const c of new Set([scatter.x, scatter.y, ...goals]))
    lines.push([columns[c].name, figureText(results[i], c)]);
  if (markWords(i)) lines.push([markWords(i)]);
  const more = at.length - 1;
  if (more > 0) lines.push([counted(more, "more combination") + " here: click again"]);
  showTip(x, y, lines);
}

// Points under the pointer, nearest first; of equally near ones the front first.
function pointsAt(event) {
  const box = byId("scatter-drawing").firstChild.getBoundingClientRect();
  const px = event.clientX - box.left, py = event.clientY - box.top;
  const near = scatter.places
    .map((place) => ({ ...place, far: Math.hypot(place.x - px, place.y - py) }))
    .filter(({ far }) => far <= NEAR)
    .sort((a, b) => a.far - b.far || front.has(b.i) - front.has(a.i) || a.i - b.i);
  return near.filter(({ x, y }) => Math.hypot(x - near[0].x, y - near[0].y) < 1);
}

function onPointKey(event) {
  const at = scatter.places.findIndex(({ element }) => element === event.target);
  if (at < 0) return;
  const last = scatter.places.length - 1;
  const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0,
               End: last }[event.key];
  if (to !== undefined) scatter.places[Math.max(0, Math.min(to, last))].element.focus();
  else if (event.key === "Enter" || event.key === " ") select(scatter.places[at].i);
  else return;
  event.preventDefault();
}

function startScatter() {
  scatter.x = goals[0];
  scatter.y = goals[1];
  if (goals.length === 1) {
    const other = columns[goals[0]].name === "steps" ? "hits" : "steps";
    scatter.x = columns.findIndex(({ name }) => name === other);
    scatter.y = goals[0];
  }
  for (const axis of ["x", "y"]) {
    const choice = byId(axis + "-figure");
    const groups = [["goals of this plan", (c) => goals.includes(c)],
                    ["other goals", (c) => columns[c].kind === "goal" && !goals.includes(c)],
                    ["figures", (c) => columns[c].kind !== "goal"]];
    for (const [label, belongs] of groups) {
      const group = el("optgroup");
      group.label = label;
      columns.forEach((column, c) => {
        if (!belongs(c)) return;
        const option = el("option", "", column.name);
        option.value = c;
        option.title = column.words;
        group.append(option);
      });
      if (group.children.length) choice.append(group);
    }
    choice.value = scatter[axis];
    choice.addEventListener("change", () => {
      scatter[axis] = Number(choice.value);
      drawScatter();
    });
  }
  const place = byId("scatter-drawing");
  place.addEventListener("pointermove", (event) => {
    const at = pointsAt(event);
    if (at.length) tipOfPoints(event.clientX, event.clientY, at); else hideTip();
  });
  place.addEventListener("pointerleave", hideTip);
  place.addEventListener("click", (event) => {
    const at = pointsAt(event);
    if (at.length) select(at[(at.findIndex(({ i }) => i === selected) + 1) % at.length].i);
  });
  place.addEventListener("keydown", onPointKey);
  place.addEventListener("focusin", (event) => {
    const at = scatter.places.find(({ element }) => element === event.target);
    if (!at || !event.target.matches(":focus-visible")) return;
    const box = event.target.getBoundingClientRect();
    tipOfPoints(box.right, box.bottom, [at]);
  });
  place.addEventListener("focusout", hideTip);
  const keys = byId("scatter-keys");
  keyOf(keys, "text recommended", "★", "recommended");
  keyOf(keys, "text front", "◆", "on the front: none is as good in every goal and better in one");
  keyOf(keys, "text", "○", "other");
  keyOf(keys, "text", "◎", "selected");
}
