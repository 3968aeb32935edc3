// Brings the selected row of a table into view, below a whole row. For tables that draw all rows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace hybridscope {

class RowScroll {
 public:
  // Call before the rows; `header`: pixels of the row that stays above them.
  void begin(float header);
  // Call when the item that spans a row was drawn; `follows`: the list has to show it.
  void add(bool follows);
  // Call behind the last row, in the table.
  void end();

 private:
  std::vector<float> edges_;  // [rows, + 1 at the end] tops, pixels below the header
  std::optional<std::size_t> wanted_;
  float end_ = 0;  // of the last row
  float header_ = 0;
  float room_below_ = 0;  // an empty row at the end, without which the list could not scroll so far
};

}  // namespace hybridscope
