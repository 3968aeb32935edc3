// Where things that can be pressed were drawn in the last frame, by name: what scripts click on.
#pragma once

#include <imgui.h>

#include <map>
#include <string>

namespace hybridscope {

struct ItemBox {
  ImVec2 min;
  ImVec2 max;
  ImVec2 centre() const { return {(min.x + max.x) / 2, (min.y + max.y) / 2}; }
};

using ItemMarks = std::map<std::string, ItemBox, std::less<>>;

}  // namespace hybridscope
