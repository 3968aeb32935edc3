// Connects a step's trace with the functions of core/state that plan its copies: makes their input
// arrays from the batch's rows, and the trace's launch from their decisions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/policy_set.h"
#include "core/engine/block_table.h"
#include "core/state/copy_launch.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

// One element per row, in batch order.
struct CopyRows {
  std::vector<RequestId> req_ids;
  std::vector<std::int32_t> num_scheduled_tokens;
  std::vector<std::int32_t> num_computed_tokens;  // exact, before the step
  std::vector<std::int32_t> num_draft_tokens;
  std::vector<std::int32_t> num_accepted_tokens;  // current counts of the rows

  // From the rows of a trace, which must be filled.
  void fill(const StepTrace& trace);
};

// `tables` ([groups]) of the trace's mamba groups, as views that stay valid while nothing is
// written to them.
void view_mamba_tables(const StepTrace& trace, std::span<const BlockTable> tables,
                       std::vector<MambaBlockTable>& views);

// Appends decisions[r] as the one of row r.
void append_decisions(const StepTrace& trace, std::span<const StateCopyDecision> decisions,
                      CopyLaunch& launch);

// Applies BackwardPostCopy and AcceptedCountReset to post-copy decisions.
void vary_post_copies(const PolicySet& policies, std::span<StateCopyDecision> decisions);

// Mode all with drafts, after sampling: what both runners do for a row
// (semantics: mode-all-with-drafts).

// Appends to the trace's post-copies one copy for each block boundary that the row's accepted
// tokens reached: decode rows left those states in scratch columns, prefill rows did not.
// `decisions` is scratch. Returns the accepted count for the next step.
std::int32_t add_boundary_copies(StepTrace& trace, std::int32_t row, std::int32_t block_size,
                                 MambaBlockTables tables,
                                 std::vector<StateCopyDecision>& decisions);

}  // namespace hybridscope
