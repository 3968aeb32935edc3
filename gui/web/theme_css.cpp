#include "gui/web/theme_css.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/model/theme.h"

namespace hybridscope {
namespace {

std::string hex(const Rgba& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour.r, colour.g, colour.b);
}

std::string property(std::string_view name, const Rgba& colour) {
  return fmt::format("  --{}: {};\n", name, hex(colour));
}

std::string properties_of(const Theme& theme) {
  const UiColours& ui = theme.ui;
  std::string css =
      fmt::format("  color-scheme: {};\n", theme.kind == ThemeKind::dark ? "dark" : "light");
  css += property("background", ui.background) + property("panel", ui.panel) +
         property("field", ui.field) + property("header", ui.header) +
         property("selection", ui.selection) + property("hover", ui.hover) +
         property("pressed", ui.pressed) + property("text", ui.text) +
         property("text-dim", ui.text_dim) + property("ok", ui.ok) +
         property("warning", ui.warning) + property("error", ui.error) + property("info", ui.info) +
         property("border", ui.border) + property("focus", ui.focus) + property("grid", ui.grid) +
         property("accent", ui.accent) + property("on-accent", ui.on_accent);
  for (std::size_t i = 0; i < kNumCellRoles; ++i) {
    const CellStyle style = cell_style(theme, static_cast<CellRole>(i));
    const std::string word = css_word(style.title);
    css += property(word + "-fill", style.fill) + property(word + "-text", style.text) +
           property(word + "-line", style.line);
  }
  return css + property("copy", theme.palette.copy) +
         property("conv-copy", theme.palette.conv_copy);
}

std::string classes_of_roles() {
  std::string css;
  for (std::size_t i = 0; i < kNumCellRoles; ++i) {
    const std::string word = css_word(role_name(static_cast<CellRole>(i)));
    css += fmt::format(
        ".role-{0} {{ background-color: var(--{0}-fill); color: var(--{0}-text); "
        "--line: var(--{0}-line); fill: var(--{0}-fill); }}\n"
        ".on-{0} {{ fill: var(--{0}-text); }}\n",
        word);
  }
  return css;
}

std::string class_of_mark(std::string_view name, const CellMark& mark) {
  return fmt::format(".mark-{} {{ color: {}; background-color: {}; }}\n", name, hex(mark.colour),
                     hex(mark.plate));
}

std::string classes_of_marks() {
  std::string css;
  for (const CellState state : {CellState::unwritten, CellState::written, CellState::verified,
                                CellState::wrong, CellState::unknown})
    if (const auto mark = state_mark(state))
      css += class_of_mark(css_word(state_name(state)), *mark);
  return css + class_of_mark("changed", changed_mark());
}

}  // namespace

std::string css_word(std::string_view name) {
  std::string word(name);
  std::ranges::replace(word, ' ', '-');
  std::erase(word, ',');
  return word;
}

std::string theme_css() {
  const std::string light = properties_of(theme_of(ThemeKind::light));
  const std::string dark = properties_of(theme_of(ThemeKind::dark));
  return fmt::format(
      ":root {{\n{0}}}\n"
      "@media (prefers-color-scheme: dark) {{\n:root:not([data-theme=\"light\"]) {{\n{1}}}\n}}\n"
      ":root[data-theme=\"dark\"] {{\n{1}}}\n{2}{3}",
      light, dark, classes_of_roles(), classes_of_marks());
}

}  // namespace hybridscope
