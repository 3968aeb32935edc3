// The interface of a panel of the workbench: it draws its model and emits commands.
#pragma once

#include <imgui.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/look.h"
#include "gui/model/command_table.h"
#include "gui/model/key_chord.h"
#include "gui/model/picture.h"
#include "gui/model/workbench.h"

namespace hybridscope {

// Where clickable items were drawn in the last frame, by name, for scripts.

struct ItemBox {
  ImVec2 min;
  ImVec2 max;
  ImVec2 centre() const { return {(min.x + max.x) / 2, (min.y + max.y) / 2}; }
};

using ItemMarks = std::map<std::string, ItemBox, std::less<>>;

struct PanelContext {
  Workbench& workbench;
  const Look& look;
  std::vector<GuiCommand>& commands;  // applied when the frame is over
  ItemMarks& marks;                   // of this frame
  std::vector<KeyChord> keys = {};    // pressed since the last frame

  // Names the last item, or a part of it.
  void mark(std::string name) {
    marks[std::move(name)] = {ImGui::GetItemRectMin(), ImGui::GetItemRectMax()};
  }
  // The left end of the row of a table that was drawn last: column borders are not in the way.
  void mark_row(std::string name) {
    const ImVec2 corner = ImGui::GetItemRectMin();
    marks[std::move(name)] = {corner, ImVec2(corner.x + look.px(40), ImGui::GetItemRectMax().y)};
  }
  void mark(std::string name, const ItemBox& box) { marks[std::move(name)] = box; }
  void emit(std::string id, std::string argument = {}) {
    commands.push_back({std::move(id), std::move(argument), workbench.drawn_side()});
  }
  void emit(const std::vector<Click>& clicks) {
    for (const Click& click : clicks) emit(std::string(click.command), click.argument);
  }
};

class Panel {
 public:
  Panel() = default;
  Panel(const Panel&) = delete;
  Panel& operator=(const Panel&) = delete;
  virtual ~Panel() = default;
  // Into the current ImGui window. Requires: a step is shown, or the panel is not PanelOf::run.
  virtual void draw(PanelContext& context) = 0;
};

// True in the frame in which the selection changes and in the two after it, so that a list scrolls
// to it: a scrollbar that comes wraps words anew and moves all rows.
template <class Selected>
class Follower {
 public:
  bool moves_to(const Selected& selected) {
    if (selected != seen_) frames_left_ = 3;
    seen_ = selected;
    return frames_left_ > 0 && frames_left_-- > 0;
  }

 private:
  Selected seen_{};
  int frames_left_ = 0;
};
using SelectionFollower = Follower<RequestId>;

// A value that is made again when the workbench has changed.
template <class Model>
class Cached {
 public:
  template <class Make>
  const Model& get(const Workbench& workbench, Make&& make) {
    if (revision_ != workbench.revision()) {
      model_ = make();
      revision_ = workbench.revision();
    }
    return model_;
  }

 private:
  Model model_{};
  std::uint64_t revision_ = 0;
};

}  // namespace hybridscope
