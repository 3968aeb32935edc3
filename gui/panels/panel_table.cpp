#include "gui/panels/panel_table.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "gui/panels/panels.h"

namespace hybridscope {
namespace {

struct PanelRow {
  std::string_view id;
  std::unique_ptr<Panel> (*make)();
};

constexpr PanelRow kPanels[] = {
    {"block_tables", make_block_tables_panel},
    {"physical_blocks", make_physical_blocks_panel},
    {"prefix_cache", make_prefix_cache_panel},
    {"batch_rows", make_batch_rows_panel},
    {"findings", make_findings_panel},
    {"breakpoints", make_breakpoints_panel},
    {"next_step", make_next_step_panel},
    {"lesson", make_lesson_panel},
    {"known_bugs", make_known_bugs_panel},
    {"differences", make_differences_panel},
    {"plan", make_plan_panel},
    {"state_copies", make_state_copies_panel},
    {"speculative", make_speculative_panel},
    {"explanation", make_explanation_panel},
    {"state_inspector", make_state_inspector_panel},
    {"metadata", make_metadata_panel},
    {"graph_padding", make_graph_padding_panel},
    {"chunks", make_chunks_panel},
    {"requests", make_requests_panel},
    {"timeline", make_timeline_panel},
    {"text", make_text_panel},
    {"heat_map", make_heat_map_panel},
};

}  // namespace

std::unique_ptr<Panel> make_panel(std::string_view id) {
  const PanelRow* row = std::ranges::find(kPanels, id, &PanelRow::id);
  HS_EXPECT(row != std::end(kPanels));
  return row->make();
}

}  // namespace hybridscope
