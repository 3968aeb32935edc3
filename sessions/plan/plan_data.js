// A plan's data, and how its values are written.

const data = JSON.parse(byId("plan-data").textContent);
const results = data.results;
const columns = data.columns;
const goals = data.goals.map((name) => columns.findIndex((column) => column.name === name));
const ran = results.flatMap((result, i) => (result.refused === undefined ? [i] : []));
const front = new Set(data.front);
const recommended = data.recommended;

// Columns whose values are no integers have as many digits as their largest value leaves room for.
for (const [c, column] of columns.entries()) {
  const values = ran.map((i) => results[i].figures[c]);
  const most = values.reduce((a, b) => Math.max(a, Math.abs(b)), 0);
  const whole = !column.share && values.every(Number.isInteger);
  column.digits = whole ? 0 : most < 1 ? 4 : most < 10 ? 2 : 1;
}

function fixed(value, digits) {
  const [whole, part] = value.toFixed(digits).split(".");
  return grouped(whole) + (part === undefined ? "" : "." + part);
}

function figureText(result, c) {
  return c < result.shown.length ? result.shown[c] : fixed(result.figures[c], columns[c].digits);
}

// 1500000 -> "1.5M"; `step`: the distance of two ticks.
function shortNumber(value, step) {
  const most = Math.max(Math.abs(value), step);
  const [unit, sign] = most >= 1e9 ? [1e9, "G"] : most >= 1e6 ? [1e6, "M"]
                     : most >= 1e4 ? [1e3, "k"] : [1, ""];
  const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));
  return fixed(value / unit, Math.min(digits, 6)) + (value === 0 ? "" : sign);
}

// The unit for sizes up to `bytes`: { name, bytes, text: (bytes) => "2.43 GiB" }.
function sizeUnit(most) {
  const [bytes, name] = most >= 1024 ** 3 ? [1024 ** 3, "GiB"] : [1024 ** 2, "MiB"];
  const digits = most / bytes < 10 ? 2 : 1;
  return { name, bytes, text: (size) => fixed(size / bytes, digits) + " " + name };
}

// The mark of a result, which is never a colour alone.
function markOf(i) {
  return i === recommended ? "★" : front.has(i) ? "◆" : "";
}

function markWords(i) {
  return i === recommended ? "recommended" : front.has(i) ? "on the front" : "";
}

// The pieces of a result's run: { start, end (us), steps, running, waiting and counts [kinds, then
// cached] as averages over steps, hits and prompts since the start of the run }. The end of the
// last one is estimated from its steps.
function piecesOf(result) {
  const kinds = data.kinds.length;
  const pieces = result.points.map((point) => {
    const steps = Math.max(point[1], 1);
    return {
      start: point[0], steps, running: point[2] / steps, waiting: point[3] / steps,
      counts: point.slice(4, 5 + kinds).map((sum) => sum / steps),
      hits: point[5 + kinds], prompts: point[6 + kinds],
    };
  });
  pieces.forEach((piece, i) => {
    if (i + 1 < pieces.length) piece.end = pieces[i + 1].start;
    else if (i > 0) {
      const before = pieces[i - 1];
      piece.end = piece.start + (piece.start - before.start) / before.steps * piece.steps;
    } else piece.end = piece.start + 1;
  });
  return pieces;
}
