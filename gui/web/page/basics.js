// Elements, what the browser remembers, and the theme.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "text") element.textContent = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
const el = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const svgEl = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
const byId = (id) => document.getElementById(id);
const counted = (number, word) => number + " " + word + (number === 1 ? "" : "s");

// Only seen by screen readers.
const spoken = (text) => el("span", { class: "spoken", text });

// A box that scrolls sideways, so that the page never does; with the keyboard too, once it is wider
// than its place (noteScrollers).
const scroller = (name, ...children) =>
  el("div", { class: "scroll", role: "group", "aria-label": name }, ...children);
// A table in such a box. What is said of it stands above: a caption would be as narrow as the
// table.
function titledTable(title, note, attributes, ...children) {
  const above = note ? el("p", { class: "dim above" }, el("b", { text: title }), " " + note) : null;
  return el("div", {}, above,
    scroller(title, el("table", attributes,
      el("caption", { class: note ? "spoken" : null }, el("b", { text: title })), ...children)));
}
function noteScrollers(root = document) {
  const boxes = [...root.querySelectorAll(".scroll")];
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth);  // all are measured first
  boxes.forEach((box, i) => {
    if (wide[i]) box.setAttribute("tabindex", "0");
    else box.removeAttribute("tabindex");
  });
}

// A browser may refuse to keep anything; the pages work without.
const memory = {
  read(key) {
    try {
      return JSON.parse(window.localStorage.getItem("hybridscope." + key));
    } catch (error) {
      return null;
    }
  },
  write(key, value) {
    try {
      window.localStorage.setItem("hybridscope." + key, JSON.stringify(value));
    } catch (error) {
      // Nothing is kept then.
    }
  },
};

const THEMES = { auto: "as the system", light: "light", dark: "dark" };
function chosenTheme() {
  const theme = memory.read("theme");
  return Object.hasOwn(THEMES, theme) ? theme : "auto";
}
function showTheme(theme) {
  if (theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.setAttribute("data-theme", theme);
  const button = byId("theme");
  if (button) button.textContent = "Colours: " + THEMES[theme];
}
function nextTheme() {
  const names = Object.keys(THEMES);
  const theme = names[(names.indexOf(chosenTheme()) + 1) % names.length];
  memory.write("theme", theme);
  showTheme(theme);
}
showTheme(chosenTheme());  // before anything is drawn
