// What commands leave to whoever draws: the workbench itself has no clipboard and no picture.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hybridscope {

// A picture of a panel that is to be written.
struct PanelPicture {
  std::string path;
  std::string panel;  // its id
};

struct Outbox {
  std::optional<std::string> clipboard;
  std::vector<PanelPicture> pictures;  // in the order in which they were asked for

  std::optional<std::string> take_clipboard() { return std::exchange(clipboard, std::nullopt); }
};

}  // namespace hybridscope
