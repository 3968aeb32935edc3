// What all pages share. Text is always set as text content, so no data becomes markup.

function el(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined && text !== null) element.textContent = text;
  return element;
}

function byId(id) { return document.getElementById(id); }

function clear(element) {
  element.replaceChildren();
  return element;
}

// columns: [{ name, title, text: (row) => ..., left }]
function table(columns, rows, decorate) {
  const result = el("table", "grid");
  const head = result.createTHead().insertRow();
  for (const column of columns) {
    const cell = el("th", column.left ? "left" : "", column.name);
    cell.scope = "col";
    if (column.title) cell.title = column.title;
    head.append(cell);
  }
  const body = result.createTBody();
  rows.forEach((row, i) => {
    const line = body.insertRow();
    for (const column of columns) {
      const value = column.text(row, i);
      const cell = el("td", column.left ? "left" : "");
      if (value instanceof Node) cell.append(value); else cell.textContent = value;
      line.append(cell);
    }
    if (decorate) decorate(line, row, i);
  });
  return result;
}

function stepLink(number) {
  const link = el("a", "", "step " + number);
  link.href = "#step=" + number;
  return link;
}

function grouped(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

function counted(number, noun) {
  return grouped(number) + " " + noun + (number === 1 ? "" : "s");
}

// A request that was clicked is highlighted everywhere.
let followed = null;
function markFollowed() {
  for (const element of document.querySelectorAll("[data-request]"))
    element.classList.toggle("followed", followed !== null && element.dataset.request === followed);
}

function onClick(event) {
  const tag = event.target.closest(".request, .cell");
  if (!tag) return;
  followed = followed === tag.dataset.request ? null : tag.dataset.request;
  markFollowed();
}
