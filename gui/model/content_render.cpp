#include "gui/model/content_render.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gui/model/shown_plan.h"
#include "gui/model/workbench.h"
#include "sessions/text/number_words.h"
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

std::string told_words(const TableCell& cell);

// "a; b; ": what stands above the words of a cell.
std::string lines_above(const TableCell& cell) {
  std::string lines;
  if (cell.extras == nullptr) return lines;
  for (const TableCell& line : cell.extras->above)
    if (const std::string words = told_words(line); !words.empty()) lines += words + "; ";
  return lines;
}

std::string told_words(const TableCell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell.value))
    return fmt::format("{}", *number);
  if (const auto* flag = std::get_if<bool>(&cell.value)) return *flag ? "yes" : "no";
  const auto* words = std::get_if<std::string>(&cell.value);
  return lines_above(cell) + (words == nullptr ? std::string() : *words);
}

// The headings, then the rows, of the columns that are copied.
std::vector<std::vector<std::string>> lines_of(const Table& table) {
  std::vector<std::vector<std::string>> lines(table.rows.size() + 1);
  for (const std::size_t c : copied_columns(table)) {
    lines[0].push_back(table.headings[c].title);
    for (std::size_t row = 0; row < table.rows.size(); ++row)
      lines[row + 1].push_back(told_words(table.rows[row].cells[c]));
  }
  return lines;
}

// "Sequences: a: B, 4 tokens from 16 (0..3); b: C, 12 tokens from 8 (4..15)"
std::string strip_line(const Strip& strip) {
  std::string words = strip.title + ":";
  for (const StripPart& part : strip.parts)
    if (!part.words.empty())
      words += fmt::format("{} {} ({}..{})", words.ends_with(':') ? "" : ";", part.words,
                           part.first, part.last - 1);
  return words;
}

// [copied columns] whether they hold numbers; false for a column with only empty cells.
std::vector<bool> number_columns(const Table& table) {
  std::vector<bool> numbers;
  for (const std::size_t c : copied_columns(table)) {
    const auto num_holding = [&]<class Value>(const Value&) {
      return std::ranges::count_if(table.rows, [&](const TableRow& row) {
        return std::holds_alternative<Value>(row.cells[c].value);
      });
    };
    const auto num_numbers = num_holding(std::int64_t{});
    numbers.push_back(num_numbers > 0 &&
                      num_numbers + num_holding(std::monostate{}) == std::ssize(table.rows));
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

void add_text_table(std::string& text, const Table& table) {
  text += fmt::format("\n{}\n", flat(table.title));
  if (!table.note.empty()) text += flat(table.note) + '\n';
  for (const Strip& strip : table.strips) text += flat(strip_line(strip)) + '\n';
  if (table.rows.empty()) {
    if (table.strips.empty()) text += fmt::format("{}\n", kNone);
    return;
  }
  std::vector<std::vector<std::string>> lines = lines_of(table);
  std::vector<std::size_t> widths(lines[0].size());
  for (auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) {
      line[c] = flat(line[c]);
      widths[c] = std::max(widths[c], text_width(line[c]));
    }
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

void add_markdown_table(std::string& text, const Table& table) {
  text += fmt::format("\n### {}\n", escaped(table.title));
  if (!table.note.empty()) text += fmt::format("\n{}\n", escaped(table.note));
  for (const Strip& strip : table.strips) text += fmt::format("\n{}\n", escaped(strip_line(strip)));
  if (table.rows.empty()) {
    if (table.strips.empty()) text += fmt::format("\n{}\n", kNone);
    return;
  }
  const auto add_line = [&](const std::vector<std::string>& cells) {
    text += "\n|";
    for (const std::string& cell : cells) text += fmt::format(" {} |", escaped(cell));
  };
  const std::vector<std::vector<std::string>> lines = lines_of(table);
  add_line(lines[0]);
  text += "\n|";
  for (const bool number : number_columns(table)) text += number ? "---:|" : "---|";
  for (std::size_t row = 1; row < lines.size(); ++row) add_line(lines[row]);
  text += '\n';
}

// In a fence longer than any in the text.
std::string fenced(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fmt::format("{}\n{}{}{}\n", fence, text, text.ends_with('\n') ? "" : "\n", fence);
}

nlohmann::ordered_json json_of(const Table& table) {
  nlohmann::ordered_json json;
  json["title"] = table.title;
  if (!table.note.empty()) json["note"] = table.note;
  for (const Strip& strip : table.strips) json["strips"].push_back(strip_line(strip));
  json["rows"] = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json object;
    for (const std::size_t c : copied_columns(table))
      object[table.headings[c].title] = cell_json(row.cells[c]);
    json["rows"].push_back(std::move(object));
  }
  return json;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void add_content(nlohmann::ordered_json& json, const Picture& content) {
  for (const Note& note : content.notes) json["notes"].push_back(note.text);
  if (!content.text.empty()) json["text"] = split_lines(content.text);
  json["tables"] = nlohmann::ordered_json::array();
  for (const Table& table : content.tables) json["tables"].push_back(json_of(table));
}

nlohmann::ordered_json selection_of(const PanelDocument& document) {
  const auto or_null = [](std::int32_t number) {
    return number < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(number);
  };
  nlohmann::ordered_json json;
  json["request"] = document.request.empty() ? nlohmann::ordered_json()
                                             : nlohmann::ordered_json(document.request);
  json["group"] = or_null(document.selection.group);
  json["column"] = or_null(document.selection.column);
  json["block"] = or_null(document.selection.block);
  return json;
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

std::vector<std::size_t> copied_columns(const Table& table) {
  std::vector<std::size_t> columns;
  for (std::size_t c = 0; c < table.headings.size(); ++c)
    if (table.headings[c].kind != ColumnKind::action) columns.push_back(c);
  return columns;
}

PanelDocument make_panel_document(Workbench& workbench, std::string_view panel) {
  const PanelInfo* info = workbench.view().find_panel(panel);
  HS_EXPECT(info != nullptr && info->make != nullptr);
  HS_EXPECT(info->of == PanelOf::plan ? workbench.plan_results() != nullptr : workbench.has_step());
  PanelDocument document;
  document.panel = panel;
  document.title = info->title;
  if (info->of == PanelOf::plan) {
    document.runs.push_back({workbench.plan_results()->file(), 0, info->make(workbench)});
    return document;
  }
  document.selection = workbench.selection();
  const Names& names = workbench.run()->names();
  if (workbench.selection().request.value >= 0)
    document.request = names.request(workbench.selection().request);
  if (workbench.selection().group >= 0) document.group = names.group(workbench.selection().group);
  const auto add = [&] {
    if (workbench.has_step())
      document.runs.push_back(
          {workbench.run()->title(), workbench.run()->step(), info->make(workbench)});
  };
  add();
  if (workbench.comparison() != nullptr && info->of == PanelOf::run) {
    const Workbench::SideScope other(workbench);
    add();
  }
  return document;
}

std::string size_words(const PanelDocument& document) {
  std::int64_t rows = 0;
  std::int64_t lines = 0;
  for (const RunContent& run : document.runs) {
    for (const Table& table : run.content.tables) rows += std::ssize(table.rows);
    lines += std::ranges::count(run.content.text, '\n');
  }
  return rows == 0 && lines > 0 ? counted(lines, "line") : counted(rows, "row");
}

std::string content_text(const PanelDocument& document) {
  std::string text = document.title + '\n';
  const std::string selection = selection_words(document);
  for (std::size_t i = 0; i < document.runs.size(); ++i) {
    const Picture& content = document.runs[i].content;
    text += fmt::format("{}{}\n", i > 0 ? "\n" : "", flat(run_words(document, i)));
    if (i == 0 && !selection.empty()) text += flat(selection) + '\n';
    if (!content.notes.empty()) text += '\n';
    for (const Note& note : content.notes) text += flat(note.text) + '\n';
    if (!content.text.empty()) text += '\n' + content.text;
    for (const Table& table : content.tables) add_text_table(text, table);
  }
  return escape_controls(text);
}

std::string content_markdown(const PanelDocument& document) {
  std::string text = fmt::format("## {}\n", escaped(document.title));
  const std::string selection = selection_words(document);
  for (std::size_t i = 0; i < document.runs.size(); ++i) {
    const Picture& content = document.runs[i].content;
    text += fmt::format("\n{}{}\n", escaped(run_words(document, i)),
                        i == 0 && !selection.empty() ? "; " + escaped(selection) : "");
    for (const Note& note : content.notes) text += fmt::format("\n{}\n", escaped(note.text));
    if (!content.text.empty()) text += '\n' + fenced(content.text);
    for (const Table& table : content.tables) add_markdown_table(text, table);
  }
  return escape_controls(text);
}

nlohmann::ordered_json cell_json(const TableCell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return *number;
  if (const auto* flag = std::get_if<bool>(&cell.value)) return *flag;
  if (std::holds_alternative<std::monostate>(cell.value) && lines_above(cell).empty())
    return nullptr;
  return told_words(cell);
}

std::string content_json(const PanelDocument& document) {
  nlohmann::ordered_json json;
  json["panel"] = document.panel;
  json["title"] = document.title;
  for (std::size_t i = 0; i < document.runs.size(); ++i) {
    nlohmann::ordered_json side;
    nlohmann::ordered_json& into = i == 0 ? json : side;
    const bool of_plan = document.runs[i].step == 0;
    into[of_plan ? "plan" : "run"] = document.runs[i].run;
    if (!of_plan) into["step"] = document.runs[i].step;
    if (i == 0 && !of_plan) into["selection"] = selection_of(document);
    add_content(into, document.runs[i].content);
    if (i > 0) json["compared_with"] = std::move(side);
  }
  // Names that are not UTF-8 get replacement characters.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string render_content(const PanelDocument& document, ContentFormat format) {
  switch (format) {
    case ContentFormat::text: return content_text(document);
    case ContentFormat::json: return content_json(document);
    case ContentFormat::markdown: return content_markdown(document);
  }
  return {};
}

}  // namespace hybridscope
