// Drawing whose faults do not end the program.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "gui/panel.h"

namespace hybridscope {

class FaultGuard {
 public:
  // Draws into the current ImGui window. A contract violation in `draw` is shown in the banner,
  // open ImGui scopes are closed, and nothing is drawn until another step is shown. True: it was
  // drawn.
  bool draw(Workbench& workbench, const std::function<void()>& draw);
  const std::string& fault() const { return fault_; }  // empty: none

 private:
  std::string fault_;
  std::uint64_t fault_step_revision_ = 0;
};

// A panel that is made when it is first drawn, and again after a fault.
class GuardedPanel {
 public:
  void draw(PanelContext& context, std::string_view id);

 private:
  FaultGuard guard_;
  std::unique_ptr<Panel> panel_;
};

}  // namespace hybridscope
