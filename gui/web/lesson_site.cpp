#include "gui/web/lesson_site.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "gui/model/theme.h"
#include "gui/web/lesson_data.h"
#include "gui/web/site_files.h"
#include "sessions/page/page_parts.h"
#include "sessions/text/number_words.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// A name as part of an address: whatever is not a letter, a digit, - . or _ as %XX.
std::string address_of(const Lesson& lesson) {
  std::string address;
  for (const char c : lesson.name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_';
    if (plain)
      address += c;
    else
      address += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return address + ".html";
}

std::string link_to(const Lesson* lesson, std::string_view rel, std::string_view words) {
  if (lesson == nullptr) return {};
  return fmt::format("<a rel=\"{}\" href=\"{}\">{}: {}</a>", rel, address_of(*lesson), words,
                     html_escaped(lesson->title));
}

std::string page_of(std::string_view body, const std::string& title, const LessonSiteInput& input) {
  const std::string head = fmt::format("<!-- {} -->\n<meta name=\"generator\" content=\"{}\">\n",
                                       kLessonSiteMark, html_escaped(input.program));
  const std::string skip =
      fmt::format("<a class=\"skip\" href=\"#main\">Skip to the text</a>\n{}", body);
  return make_page({.title = title,
                    .body = skip,
                    .style_file = "lesson.css",
                    .script_file = "lesson.js",
                    .head = head});
}

std::string lesson_item(const Lesson& lesson) {
  return fmt::format(
      "<li data-lesson=\"{0}\" data-questions=\"{1}\">\n<h3><a href=\"{2}\">{3}</a></h3>\n"
      "<p>{4}</p>\n<p class=\"dim\">{5}, {6}<span class=\"progress\"></span></p>\n</li>\n",
      html_escaped(lesson.name), num_questions(lesson), address_of(lesson),
      html_escaped(lesson.title), html_escaped(lesson.teaches),
      counted(std::ssize(lesson.parts), "part"),
      counted(static_cast<std::int64_t>(num_questions(lesson)), "question"));
}

std::string index_page(const LessonSiteInput& input) {
  // Marks are filled in from the last to the first, here and below, so that a mark in a text that
  // came in stays text.
  std::string body(site_files::index_html);
  std::string list;
  for (const Lesson& lesson : input.lessons) list += lesson_item(lesson);
  fill_mark(body, "@lessons@", list);
  fill_mark(body, "@picture@", site_files::picture_svg);
  return page_of(body, "hybridscope lessons: hybrid caching, step by step", input);
}

Result<std::string> lesson_page(const LessonSiteInput& input, std::size_t number) {
  const Lesson& lesson = input.lessons[number];
  const auto data = lesson_data(lesson);
  if (!data.ok()) return data.error();
  const Lesson* before = number > 0 ? &input.lessons[number - 1] : nullptr;
  const Lesson* after = number + 1 < input.lessons.size() ? &input.lessons[number + 1] : nullptr;
  std::string body(site_files::lesson_html);
  fill_mark(body, "@data@", script_safe_json(data.value()));
  fill_mark(body, "@after@", link_to(after, "next", "Next lesson"));
  fill_mark(body, "@before@", link_to(before, "prev", "Lesson before"));
  fill_mark(body, "@teaches@", html_escaped(lesson.teaches));
  fill_mark(body, "@lesson@", html_escaped(lesson.title));
  return page_of(body, lesson.title + " - hybridscope lessons", input);
}

std::string style_sheet() {
  return fmt::format("/* {}. */\n{}{}", kLessonSiteMark, theme_css(), site_files::lesson_css);
}

std::string script() {
  std::string text = fmt::format("// {}.\n\"use strict\";\n(() => {{\n", kLessonSiteMark);
  for (const std::string_view part :
       {site_files::basics_js, site_files::cells_js, site_files::copies_js, site_files::batch_js,
        site_files::panels_js, site_files::questions_js, site_files::lesson_js,
        site_files::start_js})
    text += part;
  return text + "})();\n";
}

}  // namespace

Result<std::vector<SiteFile>> make_lesson_site(const LessonSiteInput& input) {
  std::vector<SiteFile> files = {
      {"index.html", index_page(input)}, {"lesson.css", style_sheet()}, {"lesson.js", script()}};
  for (std::size_t i = 0; i < input.lessons.size(); ++i) {
    if (input.on_lesson && !input.on_lesson(input.lessons[i]))
      return Error{ErrorKind::not_available, "interrupted"};
    auto page = lesson_page(input, i);
    if (!page.ok()) return page.error();
    files.push_back({input.lessons[i].name + ".html", std::move(page).value()});
  }
  return files;
}

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
