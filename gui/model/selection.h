// What all panels look at together. Stepping never changes it. Requests have a name, blocks the
// cell that they were picked in: two runs that are compared show the same of both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/base/ids.h"
#include "gui/model/panel_options.h"

namespace hybridscope {

class ShownRun;

// Members that name nothing are -1 or empty.
struct Selection {
  RequestId request{};  // in the run that is drawn; -1 also where it has none called so
  std::int32_t group = -1;
  std::int32_t column = -1;  // of the request's block table in the group
  std::int32_t block = -1;
  std::string request_name = {};
  // The block is what the cell (request, group, column) of this table had when it was selected.
  bool is_cell = false;
  TableSide side = TableSide::scheduler;
  std::ptrdiff_t finding = -1;  // of the run's list that was gone to last
  friend bool operator==(const Selection&, const Selection&) = default;
};

// The block of the cell at the step that is shown; -1: there is none, or no step is shown.
std::int32_t block_of_cell(const ShownRun& run, const Selection& cell);

// `chosen` with this block instead: of the cell that was chosen if that has it, else of a request
// that holds it and its group, the chosen one if it does; else of nobody.
Selection with_block(const ShownRun& run, Selection chosen, std::int32_t block);
// `chosen` with this request instead, and no cell or block of the one before.
Selection with_request(Selection chosen, std::string name);

// What `chosen` means in `run`: the request that is called so at the shown step, or was last; the
// block of the same cell, or of the same number.
Selection selection_in(const ShownRun& run, const Selection& chosen);

}  // namespace hybridscope
