// Widths of the columns of a table whose room is given.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hybridscope {

// Pixels.
struct ColumnNeed {
  float wanted = 0;       // shows every cell in full; 0: the column is left out
  float least = 0;        // at most `wanted`; less: may be cut with "..."
  bool is_first = false;  // gives way before the others
};

struct ColumnFit {
  std::vector<float> widths;  // [columns]
  bool fits = true;           // false: all have what they want, and the table scrolls sideways
};

// What is missing is taken from the columns that give way first, then from the others; columns of
// one kind share it in proportion to how far they can give way.
ColumnFit fit_columns(std::span<const ColumnNeed> needs, float room);

// For a table that scrolls sideways: the width of as many of its first columns as the room shows
// whole, so that the visible edge cuts none; each column takes `gap` more than its width. The room
// if it does not show `least` columns.
struct WholeColumns {
  float room = 0;
  float gap = 0;
  std::size_t least = 1;
};
float whole_columns(std::span<const float> widths, const WholeColumns& in);

}  // namespace hybridscope
