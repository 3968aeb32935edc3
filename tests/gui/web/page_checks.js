// Checks of a page as a reader meets it, for lesson_site_test.py. Each returns a list of faults.

// Is the element seen? Text for screen readers only is not.
function isSeen(element) {
  if (element.closest(".spoken, .skip, [hidden], title, desc, script, noscript")) return false;
  return element.checkVisibility({ visibilityProperty: true });
}

const channels = (colour) => colour.match(/[\d.]+/g).map(Number);

function luminance([r, g, b]) {
  const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
}

function contrast(a, b) {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

// What the text of the element stands on: in a drawing the box before it, else the nearest colour.
function groundOf(element) {
  const box = element.closest("text")?.parentNode.querySelector(":scope > rect");
  if (box && element.closest("g")) {
    const fill = channels(getComputedStyle(box).fill);
    if (getComputedStyle(box).fill !== "none") return fill;
  }
  return backgroundOf(element);
}

let backgrounds = new Map();  // of elements, until something changes
function backgroundOf(element) {
  if (!element) return [255, 255, 255];
  if (!backgrounds.has(element)) {
    const colour = channels(getComputedStyle(element).backgroundColor);
    const opaque = colour.length < 4 || colour[3] === 1;
    if (!opaque && colour[3] !== 0) throw new Error("half transparent: " + element.className);
    backgrounds.set(element, opaque ? colour : backgroundOf(element.parentElement));
  }
  return backgrounds.get(element);
}

// Every text against its ground: 4.5, or 3 for large text (WCAG 1.4.3).
function contrastFaults() {
  const faults = new Set();
  backgrounds = new Map();
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !isSeen(element)) continue;
    const style = getComputedStyle(element);
    const colour = channels(element.closest("svg") ? style.fill : style.color);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = contrast(colour, groundOf(element));
    if (ratio < least)
      faults.add(`${ratio.toFixed(2)} "${node.data.trim().slice(0, 30)}" in ${element.tagName}.` +
        element.getAttribute("class"));
  }
  return [...faults];
}

// The page itself never scrolls sideways, and what is wider than its place can be scrolled by keys.
function widthFaults() {
  const faults = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width)
    for (const element of document.body.querySelectorAll("*"))
      if (!element.closest(".spoken") && !element.parentElement.closest(".scroll") &&
          isSeen(element) && element.getBoundingClientRect().right > width + 1)
        faults.push("too wide: " + element.tagName + "." + element.getAttribute("class"));
  for (const box of document.querySelectorAll(".scroll"))
    if (isSeen(box) && box.scrollWidth > box.clientWidth && box.tabIndex !== 0)
      faults.push("keys cannot scroll " + box.getAttribute("aria-label"));
  return faults;
}

// Ids that are not unique, headings that skip a level, tables without a name or with cells that no
// heading names, colours without a word: a cell's letter must be in it.
function structureFaults() {
  const faults = [];
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids))
    if (ids.filter((other) => other === id).length > 1) faults.push("id twice: " + id);
  let level = 0;
  for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5")) {
    if (!isSeen(heading)) continue;
    const now = Number(heading.tagName[1]);
    if (now > level + 1) faults.push(`h${now} after h${level}: ${heading.textContent}`);
    level = now;
  }
  if (document.querySelectorAll("h1, main").length !== 2) faults.push("not one h1 and one main");
  for (const table of document.querySelectorAll("table")) {
    if (!table.caption?.textContent.trim()) faults.push("a table without a caption");
    if ([...table.querySelectorAll("th")].some((th) => !th.scope)) faults.push("th without scope");
    if ([...table.tBodies[0].rows].some((row) => !row.querySelector("th[scope=row]")))
      faults.push("a row without a heading in " + table.caption?.textContent);
  }
  for (const cell of document.querySelectorAll(".cell"))
    if (!/^[RSCHB0FTP]/.test(cell.querySelector(".signs").textContent) ||
        !/block/.test(cell.querySelector(".spoken").textContent))
      faults.push("a cell without its letter or words: " + cell.textContent);
  return faults;
}

// Buttons, links and inputs are at least 24 pixels high (WCAG 2.5.8), links in sentences excepted.
function targetFaults() {
  return [...document.querySelectorAll("button, input, summary")].filter(isSeen)
    .filter((element) => (element.closest("label") || element).getBoundingClientRect().height < 24)
    .map((element) => "too small: " + element.outerHTML.slice(0, 80));
}

const allFaults = () =>
  [...contrastFaults(), ...widthFaults(), ...structureFaults(), ...targetFaults()];

const openAllPanels = () => {
  for (const panel of document.querySelectorAll("details")) panel.open = true;
};
const openOnly = (names) => {
  for (const panel of document.querySelectorAll("[data-panel]"))
    panel.open = names.includes(panel.dataset.panel);
};
const DRAWN = ["block_tables", "state_copies"];

// Panels are drawn in the event that tells that they were opened, a moment later.
async function drawn() {
  while (document.querySelector("[data-panel][open] .body:empty"))
    await new Promise((done) => setTimeout(done));
}

// Walks a lesson: every part at its own step with all panels open and all checks, and every step of
// every run with the panels that are drawn. Returns {steps: number of steps of runs, faults}.
async function walkLesson() {
  const faults = [];
  let steps = 0;
  const note = (where, found) => faults.push(...found.map((fault) => where + ": " + fault));
  const { parts } = JSON.parse(document.getElementById("lesson-data").textContent);
  for (const [number, part] of parts.entries()) {
    document.getElementById("reveal")?.click();
    openAllPanels();
    await drawn();
    note("part " + (number + 1), allFaults());
    const isFirst = parts.findIndex((other) => other.run === part.run) === number;
    if (isFirst) {
      openOnly(DRAWN);
      await drawn();
      document.getElementById("first").click();
    }
    while (isFirst) {
      ++steps;
      note(document.getElementById("step-title").textContent, widthFaults());
      if (document.getElementById("forward").disabled) break;
      document.getElementById("forward").click();
    }
    document.getElementById("part-next").click();
  }
  return { steps, faults };
}
