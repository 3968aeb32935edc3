// The tokens of a batch along an axis, and what a graph pads.

// Parts beside each other, as wide as their numbers of tokens.
function proportional(name, items) {
  const list = el("ol", { class: "axis", "aria-label": name });
  for (const { tokens, css, words, text } of items) {
    const item = el("li", { class: css }, el("span", { "aria-hidden": "true", text }),
      spoken(words));
    item.style.flexGrow = tokens;
    item.title = words;
    list.append(item);
  }
  return list;
}

function drawAxis(panel) {
  const { words, rows } = panel.axis;
  if (!rows.length) return [];
  return [el("h4", { text: "Tokens of the batch" }), el("p", { class: "dim", text: words }),
    ...rows.filter((row) => row.items.length).map((row) => proportional(row.name, row.items))];
}

const drawBars = (panel) => panel.bars.map((bar) =>
  el("div", { class: "labelled" }, el("span", { text: bar.what }),
    proportional(bar.what, bar.items)));

function drawCaptured(panel) {
  if (!panel.captured.length) return [];
  return [el("h4", { text: "Captured graphs" }),
    el("p", { class: "dim", text: panel.captured_words }),
    ...panel.captured.map((graphs) => el("div", { class: "labelled" },
      el("span", { text: graphs.title }), el("ul", { class: "sizes" },
        ...graphs.sizes.map(({ text, css }) => el("li", { class: css, text })))))];
}

function arrayTable(group, parts) {
  const head = el("thead", {}, el("tr", {}, ...["array", "one value a row", "note"].map((text) =>
    el("th", { scope: "col", text }))));
  const body = el("tbody", {}, ...group.arrays.map((array) => el("tr", {},
    el("th", { scope: "row", text: array.name }),
    el("td", {}, el("ul", { class: "elements" }, ...array.elements.map((element) => {
      const part = parts[element.part] || { sign: "", words: "" };
      return el("li", { class: "part-" + element.part, title: part.words },
        el("span", { text: (part.sign ? part.sign + " " : "") + element.text }),
        part.sign ? spoken(" " + part.words) : null);
    }))),
    el("td", { class: "long", text: array.note }))));
  return titledTable(group.title, group.note, { class: "plain" },
    head, body);
}

function drawPadding(panel) {
  const nodes = [el("p", {}, el("b", { text: panel.mode || "" })),
    ...drawBars(panel), ...drawCaptured(panel)];
  if (panel.arrays_note) nodes.push(el("p", { class: "dim", text: panel.arrays_note }));
  if (panel.groups && panel.groups.length) {
    const signs = Object.values(panel.parts).filter((part) => part.sign)
      .map((part) => part.sign + ": " + part.words);
    nodes.push(el("h4", { text: "What the replay reads" }),
      el("p", { class: "dim", text: signs.join("; ") }),
      ...panel.groups.filter((group) => group.arrays.length)
        .map((group) => arrayTable(group, panel.parts)));
  }
  return nodes;
}
