// Writes the pictures of panels that commands have asked for, once the panel stands in front and
// has settled.
#pragma once

#include "core/base/result.h"
#include "gui/model/workbench.h"
#include "gui/panel.h"
#include "gui/surface.h"

namespace hybridscope {

class PanelPictures {
 public:
  // Of a frame that was drawn and not presented yet, with its marks.
  void take(Workbench& workbench, const ItemMarks& marks, const Surface& surface);
  // How the last one ended. Errors: io, the file cannot be written; not_available: the panel has no
  // room in the window.
  const Status& last() const { return last_; }

 private:
  int frames_ = 0;  // drawn since the first of the outbox became due
  Status last_ = Ok{};
};

}  // namespace hybridscope
