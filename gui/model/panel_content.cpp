#include "gui/model/panel_content.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "core/base/check.h"
#include "gui/model/shown_plan.h"
#include "gui/model/workbench.h"
#include "sessions/text/number_words.h"

namespace hybridscope {

const ContentRow* find_content(std::string_view panel) {
  for (const auto& part : {block_contents(), batch_contents(), metadata_contents(), run_contents(),
                           language_contents()})
    for (const ContentRow& row : part)
      if (row.panel == panel) return &row;
  return nullptr;
}

PanelDocument make_panel_document(Workbench& workbench, std::string_view panel) {
  const ContentRow* row = find_content(panel);
  const PanelInfo* info = workbench.view().find_panel(panel);
  HS_EXPECT(row != nullptr && info != nullptr);
  HS_EXPECT(row->of_plan ? workbench.plan_results() != nullptr : workbench.has_step());
  PanelDocument document;
  document.panel = panel;
  document.title = info->title;
  if (row->of_plan) {
    document.runs.push_back({workbench.plan_results()->file(), 0, row->make(workbench)});
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
          {workbench.run()->title(), workbench.run()->step(), row->make(workbench)});
  };
  add();
  if (workbench.comparison() != nullptr && info->of_a_run) {
    const Workbench::SideScope other(workbench);
    add();
  }
  return document;
}

std::string size_words(const PanelDocument& document) {
  std::int64_t rows = 0;
  std::int64_t lines = 0;
  for (const RunContent& run : document.runs) {
    for (const ContentTable& table : run.content.tables) rows += std::ssize(table.rows);
    lines += std::ranges::count(run.content.text, '\n');
  }
  return rows == 0 && lines > 0 ? counted(lines, "line") : counted(rows, "row");
}

}  // namespace hybridscope
