#include "gui/model/content_render.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "sessions/text/shown_text.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

constexpr std::string_view kNone = "(none)";

// On one line.
std::string flat(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return line;
}

std::string words_of(const ContentCell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  return {};
}

// [columns] whether they hold numbers; false for a column with only empty cells.
std::vector<bool> number_columns(const ContentTable& table) {
  std::vector<bool> numbers(table.headings.size(), true);
  for (std::size_t c = 0; c < numbers.size(); ++c) {
    bool any = false;
    for (const auto& row : table.rows) {
      any = any || std::holds_alternative<std::int64_t>(row[c]);
      numbers[c] = numbers[c] && (std::holds_alternative<std::int64_t>(row[c]) ||
                                  std::holds_alternative<std::monostate>(row[c]));
    }
    numbers[c] = numbers[c] && any;
  }
  return numbers;
}

// "selected: request A, group 1 (mamba2), column 0, block 3"; empty: nothing is.
std::string selection_words(const PanelDocument& document) {
  std::string words;
  const auto add = [&](const std::string& what) { words += (words.empty() ? "" : ", ") + what; };
  if (!document.request.empty()) add("request " + document.request);
  if (!document.group.empty()) add(document.group);
  if (document.selection.column >= 0) add(fmt::format("column {}", document.selection.column));
  if (document.selection.block >= 0) add(fmt::format("block {}", document.selection.block));
  return words.empty() ? words : "selected: " + words;
}

// "A: align boundary, step 3": in a comparison with the letter of the side. Of a plan "plan.jsonl".
std::string run_words(const PanelDocument& document, std::size_t index) {
  const RunContent& run = document.runs[index];
  const std::string side = document.runs.size() < 2 ? "" : index == 0 ? "A: " : "B: ";
  const std::string step = run.step > 0 ? fmt::format(", step {}", run.step) : "";
  return fmt::format("{}{}{}", side, run.run, step);
}

void add_text_table(std::string& text, const ContentTable& table) {
  text += fmt::format("\n{}\n", flat(table.title));
  if (!table.note.empty()) text += flat(table.note) + '\n';
  if (table.rows.empty()) {
    text += fmt::format("{}\n", kNone);
    return;
  }
  std::vector<std::vector<std::string>> lines{table.headings};
  for (const auto& row : table.rows) {
    auto& line = lines.emplace_back();
    for (const ContentCell& cell : row) line.push_back(flat(words_of(cell)));
  }
  std::vector<std::size_t> widths(table.headings.size());
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c)
      widths[c] = std::max(widths[c], text_width(line[c]));
  const std::vector<bool> numbers = number_columns(table);
  for (const auto& line : lines) {
    std::string aligned;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string blanks(widths[c] - text_width(line[c]), ' ');
      if (c > 0) aligned += "  ";
      aligned += numbers[c] ? blanks + line[c] : line[c] + blanks;
    }
    aligned.erase(aligned.find_last_not_of(' ') + 1);
    text += aligned + '\n';
  }
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\n')
      safe += "<br>";
    else if (c == '<')
      safe += "&lt;";
    else if (std::string_view("\\|*`").find(c) != std::string_view::npos)
      (safe += '\\') += c;
    else
      safe += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return safe;
}

void add_markdown_table(std::string& text, const ContentTable& table) {
  text += fmt::format("\n### {}\n", escaped(table.title));
  if (!table.note.empty()) text += fmt::format("\n{}\n", escaped(table.note));
  if (table.rows.empty()) {
    text += fmt::format("\n{}\n", kNone);
    return;
  }
  text += "\n|";
  for (const std::string& heading : table.headings) text += fmt::format(" {} |", escaped(heading));
  text += "\n|";
  for (const bool number : number_columns(table)) text += number ? "---:|" : "---|";
  for (const auto& row : table.rows) {
    text += "\n|";
    for (const ContentCell& cell : row) text += fmt::format(" {} |", escaped(words_of(cell)));
  }
  text += '\n';
}

// In a fence longer than any in the text.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fmt::format("{}\n{}{}{}\n", fence, text, text.ends_with('\n') ? "" : "\n", fence);
}

}  // namespace

std::string_view content_format_name(ContentFormat format) {
  constexpr std::array<std::string_view, kContentFormats.size()> kNames = {"text", "json",
                                                                           "markdown"};
  return kNames[static_cast<std::size_t>(format)];
}

std::string_view content_format_title(ContentFormat format) {
  constexpr std::array<std::string_view, kContentFormats.size()> kTitles = {"text", "JSON",
                                                                            "Markdown"};
  return kTitles[static_cast<std::size_t>(format)];
}

std::optional<ContentFormat> content_format_of(std::string_view name) {
  for (const ContentFormat format : kContentFormats)
    if (content_format_name(format) == name) return format;
  return std::nullopt;
}

std::string content_text(const PanelDocument& document) {
  std::string text = document.title + '\n';
  const std::string selection = selection_words(document);
  for (std::size_t i = 0; i < document.runs.size(); ++i) {
    const PanelContent& content = document.runs[i].content;
    text += fmt::format("{}{}\n", i > 0 ? "\n" : "", flat(run_words(document, i)));
    if (i == 0 && !selection.empty()) text += flat(selection) + '\n';
    if (!content.notes.empty()) text += '\n';
    for (const std::string& note : content.notes) text += flat(note) + '\n';
    if (!content.text.empty()) text += '\n' + content.text;
    for (const ContentTable& table : content.tables) add_text_table(text, table);
  }
  return escape_controls(text);
}

std::string content_markdown(const PanelDocument& document) {
  std::string text = fmt::format("## {}\n", escaped(document.title));
  const std::string selection = selection_words(document);
  for (std::size_t i = 0; i < document.runs.size(); ++i) {
    const PanelContent& content = document.runs[i].content;
    text += fmt::format("\n{}{}\n", escaped(run_words(document, i)),
                        i == 0 && !selection.empty() ? "; " + escaped(selection) : "");
    for (const std::string& note : content.notes) text += fmt::format("\n{}\n", escaped(note));
    if (!content.text.empty()) text += '\n' + fenced(content.text);
    for (const ContentTable& table : content.tables) add_markdown_table(text, table);
  }
  return escape_controls(text);
}

std::string render_content(const PanelDocument& document, ContentFormat format) {
  switch (format) {
    case ContentFormat::text:
      return content_text(document);
    case ContentFormat::json:
      return content_json(document);
    case ContentFormat::markdown:
      return content_markdown(document);
  }
  return {};
}

}  // namespace hybridscope
