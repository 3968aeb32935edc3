// The tokens of a batch along an axis.

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
