#include "gui/panels/panel_table.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "gui/panels/panels.h"
#include "gui/picture_panel.h"

namespace hybridscope {
namespace {

// The panels that draw more than tables.
struct PanelRow {
  std::string_view id;
  std::unique_ptr<Panel> (*make)();
};

constexpr PanelRow kPanels[] = {
    {"block_tables", make_block_tables_panel},
    {"physical_blocks", make_physical_blocks_panel},
    {"prefix_cache", make_prefix_cache_panel},
    {"batch_rows", make_batch_rows_panel},
    {"next_step", make_next_step_panel},
    {"lesson", make_lesson_panel},
    {"plan", make_plan_panel},
    {"state_copies", make_state_copies_panel},
    {"speculative", make_speculative_panel},
    {"explanation", make_explanation_panel},
    {"state_inspector", make_state_inspector_panel},
    {"metadata", make_metadata_panel},
    {"graph_padding", make_graph_padding_panel},
    {"chunks", make_chunks_panel},
    {"timeline", make_timeline_panel},
    {"text", make_text_panel},
    {"heat_map", make_heat_map_panel},
};

}  // namespace

std::unique_ptr<Panel> make_panel(const PanelInfo& info) {
  const PanelRow* row = std::ranges::find(kPanels, info.id, &PanelRow::id);
  if (row != std::end(kPanels)) return row->make();
  HS_EXPECT(info.make != nullptr);
  return std::make_unique<PicturePanel>(info.make);
}

}  // namespace hybridscope
