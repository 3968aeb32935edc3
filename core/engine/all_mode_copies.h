// Mode all with drafts, after sampling: what both runners do for a row
// (semantics: mode-all-with-drafts).
#pragma once

#include <cstdint>
#include <span>

#include "core/engine/block_table.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Column of the last token that the row's step scheduled; query token t of a decode row wrote its
// state t columns further. `block_size` > 0, tokens.
std::int32_t last_scheduled_column(const RowTrace& row, const ScheduledTrace& scheduled,
                                   std::int32_t block_size);

// Appends to the trace's post-copies one copy for each block boundary that the row's accepted
// tokens reached: decode rows left those states in scratch columns, prefill rows did not. `tables`:
// [groups]. The result is the accepted count for the next step.
std::int32_t add_boundary_copies(StepTrace& trace, std::span<const BlockTable> tables,
                                 std::int32_t row, std::int32_t block_size);

}  // namespace hybridscope
