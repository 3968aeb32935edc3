#include "gui/web/step_data.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "gui/model/content_render.h"
#include "gui/web/panel_data.h"
#include "sessions/lessons/lesson.h"
#include "sessions/text/number_words.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kInWords = "explanation";

// What the window offers for copying.
Json content_data(const Picture& content) {
  Json data = Json::object();
  for (const Note& note : content.notes) data["notes"].push_back(note.text);
  if (!content.text.empty()) data["text"] = content.text;
  for (const Table& table : content.tables) data["tables"].push_back(table_data(table));
  return data;
}

// The first table of a panel that is drawn besides.
Json with_first_table(Json drawn, const Picture& content) {
  if (!content.tables.empty()) drawn["tables"] = Json::array({table_data(content.tables.front())});
  for (const Note& note : content.notes) drawn["notes"].push_back(note.text);
  return drawn;
}

Json panel_data(Workbench& workbench, std::string_view panel) {
  ShownRun& run = *workbench.run();
  if (panel == "block_tables") return block_tables_data(run);
  if (panel == "graph_padding") return padding_data(run);
  const Picture content = workbench.view().find_panel(panel)->make(workbench);
  if (panel == "state_copies") return with_first_table(copies_data(run), content);
  if (panel == "batch_rows") return with_first_table({{"axis", axis_data(run)}}, content);
  return content_data(content);
}

// "1 error, 2 warnings"; empty: nothing was found.
std::string found_words(const StepView& view) {
  if (view.findings.empty()) return {};
  const auto errors = std::ranges::count_if(view.findings, [](const Finding& finding) {
    return rule_info(finding.rule).severity == Severity::error;
  });
  return fmt::format("{}, {}", counted(errors, "error"),
                     counted(std::ssize(view.findings) - errors, "warning"));
}

bool has_error(const StepView& view) {
  return std::ranges::any_of(view.findings, [](const Finding& finding) {
    return rule_info(finding.rule).severity == Severity::error;
  });
}

}  // namespace

Json table_data(const Table& table) {
  Json data = {{"title", table.title}, {"head", Json::array()}, {"rows", Json::array()}};
  if (!table.note.empty()) data["note"] = table.note;
  const std::vector<std::size_t> columns = copied_columns(table);
  for (const std::size_t column : columns) data["head"].push_back(table.headings[column].title);
  for (const TableRow& row : table.rows) {
    Json cells = Json::array();
    for (const std::size_t column : columns) cells.push_back(cell_json(row.cells[column]));
    data["rows"].push_back(std::move(cells));
  }
  return data;
}

Json step_data(Workbench& workbench) {
  Json panels = Json::object();
  for (const std::string_view panel : lesson_panels())
    panels[std::string(panel)] = panel_data(workbench, panel);
  panels[std::string(kInWords)] = panel_data(workbench, kInWords);
  const StepView view = workbench.run()->view();
  return {{"step", view.trace.step},
          {"found", found_words(view)},
          {"has_error", has_error(view)},
          {"panels", panels}};
}

}  // namespace hybridscope
