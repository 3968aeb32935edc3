// What the last frame drew of a panel, read from ImGui's windows and lists.
#pragma once

#include <string>
#include <vector>

namespace hybridscope::test {

struct DrawnPanel {
  int vertices = 0;                  // four a letter
  std::vector<std::string> clipped;  // items whose content is too wide for them, with both widths
  std::vector<std::string> scrolled_sideways;  // tables and the like with something beyond an edge
};

// Of the panels in front of their leaves, tooltips and dialogs left out.
DrawnPanel drawn_panels();

}  // namespace hybridscope::test
