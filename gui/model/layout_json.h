// A layout as JSON text, both ways:
//   {"version": 1, "layout": {"split": "horizontal", "ratio": 0.7,
//                             "first": {"panels": ["pool", "batch"], "active": "batch"},
//                             "second": {"panels": ["log"]}}}
// "layout" is null for an empty one; "active" may be absent: the first.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/layout_tree.h"

namespace hybridscope {

inline constexpr int kLayoutVersion = 1;
// In one layout, known or not.
inline constexpr std::size_t kMaxLayoutPanels = 256;

std::string layout_to_json(const LayoutTree& tree);

using IsKnownPanel = std::function<bool(std::string_view panel)>;

struct ReadLayout {
  LayoutTree tree;
  std::vector<std::string> notes;  // "FILE: POINTER: ...", one a panel that was left out
};

// A panel that is not known is left out with a note, and so is a leaf without any other. Error
// corrupt: no JSON; invalid_input: unknown keys, another version, a panel twice, an active panel
// that is not in its leaf, a ratio out of its range, splits nested too deeply, too many panels.
Result<ReadLayout> read_layout(std::string_view text, const std::string& file,
                               const IsKnownPanel& is_known);

}  // namespace hybridscope
