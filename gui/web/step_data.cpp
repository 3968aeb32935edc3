#include "gui/web/step_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gui/model/content_cells.h"
#include "gui/model/panel_content.h"
#include "gui/web/panel_data.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kInWords = "explanation";

// What the window offers for copying.
Json content_data(const PanelContent& content) {
  Json data = Json::object();
  if (!content.notes.empty()) data["notes"] = content.notes;
  if (!content.text.empty()) data["text"] = content.text;
  for (const ContentTable& table : content.tables) data["tables"].push_back(table_data(table));
  return data;
}

// The first table of a panel that is drawn besides.
Json with_first_table(Json drawn, const PanelContent& content) {
  if (!content.tables.empty()) drawn["tables"] = Json::array({table_data(content.tables.front())});
  if (!content.notes.empty()) drawn["notes"] = content.notes;
  return drawn;
}

Json panel_data(Workbench& workbench, std::string_view panel) {
  ShownRun& run = *workbench.run();
  if (panel == "block_tables") return block_tables_data(run);
  if (panel == "graph_padding") return padding_data(run);
  const PanelContent content = find_content(panel)->make(workbench);
  if (panel == "state_copies") return with_first_table(copies_data(run), content);
  if (panel == "batch_rows") return with_first_table({{"axis", axis_data(run)}}, content);
  return content_data(content);
}

Json findings_data(const StepView& view) {
  Json findings = Json::array();
  for (const Finding& finding : view.findings) {
    const RuleInfo& rule = rule_info(finding.rule);
    findings.push_back({{"severity", rule.severity == Severity::error ? "error" : "warning"},
                        {"rule", rule.slug}});
  }
  return findings;
}

}  // namespace

Json table_data(const ContentTable& table) {
  Json data = {{"title", table.title}, {"head", table.headings}, {"rows", Json::array()}};
  if (!table.note.empty()) data["note"] = table.note;
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const ContentCell& cell : row) cells.push_back(cell_json(cell));
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
  return {{"step", view.trace.step}, {"findings", findings_data(view)}, {"panels", panels}};
}

}  // namespace hybridscope
