// The selection, shared by all panels. Stepping never changes it. It identifies requests by name
// and blocks by the cell in which they were picked, so that two compared runs show the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/ids.h"
#include "gui/model/panel_options.h"

namespace hybridscope {

class ShownRun;

// Members that select nothing are -1 or empty.
struct Selection {
  RequestId request{};  // in the run that is drawn; -1 also if that lacks the name
  std::int32_t group = -1;
  std::int32_t column = -1;  // of the request's block table in the group
  std::int32_t block = -1;
  std::string request_name = {};
  // The block was selected as the content of the cell (request, group, column) of this table.
  bool is_cell = false;
  TableSide side = TableSide::scheduler;
  std::ptrdiff_t finding = -1;  // index in the run's list of the last one gone to
  friend bool operator==(const Selection&, const Selection&) = default;
};

// The block of the cell at the shown step; -1: none, or no step is shown.
std::int32_t block_of_cell(const ShownRun& run, const Selection& cell);

// `chosen` with this block instead: in the chosen cell if that has it, else with a request and
// group that hold it (the chosen request if it does), else without a request.
Selection with_block(const ShownRun& run, Selection chosen, std::int32_t block);
// `chosen` with this request instead, and without the previous cell and block.
Selection with_request(Selection chosen, std::string name);

// What `chosen` means in `run`: the request with that name at the shown step, or the last one
// before it; the block of the same cell, or with the same number.
Selection selection_in(const ShownRun& run, const Selection& chosen);

// Facts for tooltips and details, one per line.

struct Fact {
  std::string label;
  std::string value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

}  // namespace hybridscope
