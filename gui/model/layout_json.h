// A layout as JSON text, both ways:
//   {"version": 1, "layout": {"split": "horizontal", "ratio": 0.7,
//                             "first": {"panels": ["pool", "batch"], "active": "batch"},
//                             "second": {"panels": ["log"]}}}
// "layout" is null for an empty layout; "active" may be absent: the first panel.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "gui/model/layout_tree.h"

namespace hybridscope {

inline constexpr int kLayoutVersion = 1;
// Per layout, known panels or not.
inline constexpr std::size_t kMaxLayoutPanels = 256;

std::string layout_to_json(const LayoutTree& tree);

using IsKnownPanel = std::function<bool(std::string_view panel)>;

struct ReadLayout {
  LayoutTree tree;
  std::vector<std::string> notes;  // "FILE: POINTER: ...", one for each ignored panel
};

// An unknown panel is ignored with a note; so is a leaf with no other panels. Error corrupt: not
// JSON; invalid_input: unknown keys, another version, a panel twice, an active panel that is not in
// its leaf, a ratio out of range, splits nested too deeply, too many panels.
Result<ReadLayout> read_layout(std::string_view text, const std::string& file,
                               const IsKnownPanel& is_known);

}  // namespace hybridscope
