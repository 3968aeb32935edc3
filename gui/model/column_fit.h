// Widths of the columns of a table whose room is given.
#pragma once

#include <span>
#include <vector>

namespace hybridscope {

// Pixels.
struct ColumnNeed {
  float wanted = 0;  // shows every cell in full; 0: the column is left out
  float least = 0;   // at most `wanted`; less: words that may be cut with "..."
};

struct ColumnFit {
  std::vector<float> widths;  // [columns]
  bool fits = true;           // false: all have what they want, and the table scrolls sideways
};

// Columns that may give way share what is missing in proportion to how far they can.
ColumnFit fit_columns(std::span<const ColumnNeed> needs, float room);

}  // namespace hybridscope
