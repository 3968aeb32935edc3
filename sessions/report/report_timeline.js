// The strip of steps x requests, and the marks under the slider.

const MOST_LINES = 60;
const ROW_COLOURS = { decode: "--running", verify: "--speculative", prefill: "--prefill", copies: "--copy" };

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// request -> line of the strip, in the order in which requests first have a row.
const stripLines = new Map();
for (const step of steps)
  for (const request of step.rows.keys())
    if (!stripLines.has(request)) stripLines.set(request, stripLines.size);

// The first request that is drawn: a strip has room for some of them.
let firstLine = 0;
const drawnLines = () => Math.min(stripLines.size - firstLine, MOST_LINES);
// The line of a request in what is drawn; empty: it is not drawn.
function drawnLine(request) {
  const line = stripLines.get(request) - firstLine;
  return line >= 0 && line < MOST_LINES ? line : undefined;
}

function showLines(first) {
  firstLine = Math.min(Math.max(first, 0), Math.floor((stripLines.size - 1) / MOST_LINES) * MOST_LINES);
  byId("timeline-drawn").textContent = "requests " + (firstLine + 1) + " to " + (firstLine + drawnLines()) +
    " of " + stripLines.size + " are drawn, in the order in which they first run";
  byId("fewer-lines").disabled = firstLine === 0;
  byId("more-lines").disabled = firstLine + MOST_LINES >= stripLines.size;
  drawTimeline();
}

// Says which requests are drawn, where they are not all, and draws the others.
function pageTimeline() {
  if (stripLines.size <= MOST_LINES) return;
  byId("timeline-pages").hidden = false;
  byId("fewer-lines").addEventListener("click", () => showLines(firstLine - MOST_LINES));
  byId("more-lines").addEventListener("click", () => showLines(firstLine + MOST_LINES));
  showLines(0);
}

function drawTimeline() {
  const canvas = byId("timeline");
  const lines = drawnLines();
  canvas.hidden = lines === 0;
  if (lines === 0) return;
  const width = canvas.clientWidth;
  const height = Math.max(14, Math.min(lines * 8, 72));
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = height + "px";
  canvas.width = width * scale;
  canvas.height = height * scale;
  const paint = canvas.getContext("2d");
  paint.scale(scale, scale);
  const colours = new Map(Object.entries(ROW_COLOURS).map(([name, of]) => [name, colour(of)]));
  const stepWidth = width / steps.length, lineHeight = height / lines;
  const gap = stepWidth > 4 ? 1 : 0, lineGap = lineHeight > 3 ? 1 : 0;
  steps.forEach((step, i) => {
    for (const [request, classes] of step.rows) {
      const line = drawnLine(request);
      if (line === undefined) continue;
      paint.fillStyle = colours.get(classes.includes("copies") ? "copies" : classes[0]);
      paint.fillRect(i * stepWidth, line * lineHeight, Math.max(stepWidth - gap, 0.5), lineHeight - lineGap);
    }
  });
  paint.fillStyle = colour("--preemption");
  steps.forEach((step, i) => {
    for (const request of step.preempted) {
      const line = drawnLine(request);
      if (line !== undefined)
        paint.fillRect(i * stepWidth, line * lineHeight, Math.max(stepWidth - gap, 1), lineHeight - lineGap);
    }
  });
  paint.strokeStyle = colour("--text");
  paint.lineWidth = 1.5;
  paint.strokeRect(current * stepWidth, 0.75, Math.max(stepWidth, 2), height - 1.5);
}

function followTimeline() {
  const canvas = byId("timeline");
  const placeAt = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.min(steps.length - 1,
                    Math.max(0, Math.floor((event.clientX - box.left) / box.width * steps.length)));
  };
  let down = false;
  canvas.addEventListener("pointerdown", (event) => { down = true; go(placeAt(event)); });
  window.addEventListener("pointerup", () => { down = false; });
  canvas.addEventListener("pointermove", (event) => {
    if (down) go(placeAt(event));
    const box = canvas.getBoundingClientRect();
    const line = Math.floor((event.clientY - box.top) / box.height * drawnLines());
    const request = [...stripLines.keys()][firstLine + line];
    canvas.title = "step " + steps[placeAt(event)].n + (request === undefined ? "" : ", " + nameOf(request));
  });
}

// One tick per step for each kind of mark; each kind has its own line.
function showMarks() {
  const target = byId("marks");
  MARKS.forEach((mark, line) => {
    const places = steps.flatMap((step, i) => step.marks[line] > 0 ? [i] : []);
    if (!places.length) return;
    const lane = el("div", "lane on-" + mark.key);
    lane.dataset.count = places.length;
    for (const i of places) {
      const tick = el("a", "tick", steps.length <= 60 ? mark.letter : "");
      tick.href = "#step=" + steps[i].n;
      tick.style.left = (i + 0.5) / steps.length * 100 + "%";
      tick.title = "step " + steps[i].n + ": " + mark.words + " " + steps[i].marks[line];
      tick.tabIndex = -1;
      lane.append(tick);
    }
    lane.title = mark.words;
    target.append(lane);
  });
  const keys = byId("keys");
  const key = (className, letter, words) => {
    const item = el("span", "key");
    item.append(el("span", "swatch " + className, letter), el("span", "", words));
    keys.append(item);
  };
  const classes = new Set(steps.flatMap((step) => [...step.rows.values()].map(([of]) => of)));
  for (const work of classes) key(work, "", work);
  MARKS.forEach((mark, line) => {
    const number = steps.filter((step) => step.marks[line] > 0).length;
    if (number) key("on-" + mark.key, mark.letter, counted(number, "step") + " with " + mark.words);
  });
  for (const [step, note] of run.bookmarks) {
    const link = el("a", "key", "★ " + step + " " + note);
    link.href = "#step=" + step;
    keys.append(link);
  }
}
