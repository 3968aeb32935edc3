// The page of a plan: its head, and what is selected.

let selected = recommended ?? ran[0];

function settingTexts(settings, path) {
  return Object.entries(settings).flatMap(([name, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? settingTexts(value, path + name + "/")
      : [path + name + "=" + (typeof value === "string" ? value : JSON.stringify(value))]);
}

function fact(name, text) {
  const item = el("div");
  item.append(el("dt", "", name), el("dd", "", text));
  byId("facts").append(item);
}

function showHead() {
  const { plan } = data;
  const { engine, ...settings } = JSON.parse(plan.settings);
  document.title = "plan of " + plan.model + " on " + plan.traffic;
  byId("title").textContent = "Plan: " + plan.model + " on " + plan.traffic;
  byId("written-by").textContent = plan.program;
  byId("overload").textContent = data.overload;
  byId("overload").hidden = data.overload === "";
  fact("traffic", plan.traffic + (data.requests ? ", " + counted(data.requests, "request") : ""));
  if (!data.axes.includes("engine")) fact("engine", engine ?? "safe");
  fact("settings", settingTexts(settings, "").join(" ") || "the defaults");
  for (const sweep of plan.sweeps) fact("tried", sweep);
  fact("results", data.counts);
  fact("goals", data.goals.join(", "));
}

function showRecommendation() {
  if (recommended === null) {
    byId("recommended").textContent = "No combination ran.";
    const section = byId("recommendation");
    for (const part of section.querySelectorAll("h3, ul, #trade")) part.hidden = true;
    return;
  }
  byId("recommended").append(el("strong", "", "★ " + results[recommended].name));
  byId("trade").textContent = ran.length === 1 ? "No other combination ran."
    : (data.front.length === 1 ? "No other combination is better in any goal"
      : counted(data.front.length, "combination") +
        " are on the front, where more of one goal costs some of another; this one gives up " +
        "least in all") + ". Up to 2 % from the best is equal.";
  byId("reasons").append(...data.reasons.map((reason) => el("li", "", reason)));
}

function showSelection() {
  const result = results[selected];
  byId("selected-name").textContent = (markOf(selected) + " " + result.name).trim();
  const values = goals.map((c) => columns[c].name + " " + figureText(result, c));
  const worst = columns.findIndex(({ name }) => name === "worst step");
  values.push("mode " + result.mode, "fewest free blocks in step " + figureText(result, worst));
  byId("selected-values").textContent = values.join(" · ");
  byId("select-recommended").hidden = selected === recommended;
  document.body.dataset.selected = selected;
}

function select(i) {
  selected = i;
  showSelection();
  markPoint();
  markRow();
  drawCharts();
}

function draw() {
  drawScatter();
  drawCharts();
}

function start() {
  showHead();
  showRecommendation();
  if (ran.length === 0) {
    for (const id of ["scatter", "selection", "memory", "hits", "all"]) byId(id).hidden = true;
    showRefused();
    return;
  }
  startScatter();
  startTable();
  showSelection();
  draw();
  byId("select-recommended").addEventListener("click", () => select(recommended));
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (width === window.innerWidth) return;
    width = window.innerWidth;
    draw();
  });
}

start();
