// The bar for moving in a run: buttons, the step's number, and a ruler of all known steps with
// marks for what happened in them.
#pragma once

#include <cstdint>
#include <vector>

#include "gui/model/timeline_model.h"
#include "gui/panel.h"

namespace hybridscope {

class RunBar {
 public:
  void draw(PanelContext& context);

 private:
  void draw_buttons(PanelContext& context);
  void draw_ruler(PanelContext& context);
  const std::vector<RulerColumn>& columns_of(const Workbench& workbench, std::int32_t width);

  int wanted_step_ = 1;  // typed into the step field
  bool typing_ = false;
  std::vector<RulerColumn> columns_;  // of this revision and width
  std::uint64_t columns_revision_ = 0;
  std::int32_t columns_width_ = -1;
};

}  // namespace hybridscope
