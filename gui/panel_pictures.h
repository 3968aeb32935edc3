// Writes the pictures of panels that commands have requested, once the panel is in front and has
// settled.
#pragma once

#include "core/base/result.h"
#include "gui/model/workbench.h"
#include "gui/panel.h"
#include "gui/surface.h"

namespace hybridscope {

class PanelPictures {
 public:
  // Takes pictures from a frame that was drawn but not presented yet, with its marks.
  void take(Workbench& workbench, const ItemMarks& marks, const Surface& surface);
  // The result of the last picture. Errors not_available: the file cannot be written, or the panel
  // has no room in the window.
  const Status& last() const { return last_; }

 private:
  int frames_ = 0;  // drawn since the first picture in the outbox became due
  Status last_ = Ok{};
};

}  // namespace hybridscope
