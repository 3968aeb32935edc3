// Mode all with drafts, after sampling: what both runners do for a row
// (semantics: mode-all-with-drafts).
#pragma once

#include <cstdint>
#include <vector>

#include "core/state/collect_copies.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// Appends to the trace's post-copies one copy for each block boundary that the row's accepted
// tokens reached: decode rows left those states in scratch columns, prefill rows did not.
// `decisions` is scratch. Returns the accepted count for the next step.
std::int32_t add_boundary_copies(StepTrace& trace, std::int32_t row, std::int32_t block_size,
                                 MambaBlockTables tables,
                                 std::vector<StateCopyDecision>& decisions);

}  // namespace hybridscope
