// The tokens of a batch's rows and what each of them will sample: the part of "prepare inputs" and
// of sampling that both runners share (semantics: draft-and-accepted-counts, sampled-tokens).
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/policy_set.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/engine/token_sequence.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

class RowInputs {
 public:
  explicit RowInputs(const EngineConfig& config);

  // Call first in a step.
  void start_step() { planned_num_accepted_tokens_.clear(); }

  // Call for the rows in order, each with request, scheduled and its exact num_computed_tokens
  // filled in: writes its conv history and appends its tokens to the trace. What the row will
  // sample is decided here, because acceptance is keyed, but not written to the trace before
  // sample(). Uses up a scripted count.
  void add(StepTrace& trace, RowTrace& row, EngineRequest& request, const PolicySet& policies);

  // Fills num_sampled_tokens of all rows.
  void sample(StepTrace& trace) const;

 private:
  std::int32_t plan_acceptance(StepTrace& trace, const RowTrace& row, EngineRequest& request) const;
  void append_tokens(StepTrace& trace, const RowTrace& row, const EngineRequest& request,
                     const PolicySet& policies) const;
  void fill_history(RowTrace& row, EngineRequest& request) const;

  // ReturningDrafts::placeholders: does the row verify ids of -1?
  bool has_lost_drafts(const RowTrace& row, const PolicySet& policies) const;

  AcceptanceConfig acceptance_;
  ModelRunner runner_;
  bool async_scheduling_ = false;
  std::int32_t conv_kernel_ = 4;
  std::vector<std::int32_t> planned_num_accepted_tokens_;  // [rows]
};

// How a row came to its position. `previous_row`: in the step before, -1: none.
RowOrigin row_origin_of(std::int32_t previous_row, std::int32_t row, Admission admission);

// Is a decode row without drafts told to the builders as a verify row with 0 drafts? Where builders
// class rows by their drafts, NoDraftStep::verify_with_counts has no other way to do it.
bool zero_drafts_make_verify_rows(const PolicySet& policies);

// num_decode_draft_tokens of a row: its drafts, -1 without drafts and while it is prefilling, and
// what DraftMask and NoDraftStep change (semantics: draft-and-accepted-counts; the
// runners differ in what they call prefilling).
std::int32_t num_draft_count_of(const ScheduledTrace& scheduled, bool is_prefilling,
                                const EngineConfig& config);

// After sampling: the row's exact computed tokens, rejected drafts taken off
// (semantics: sampled-tokens).
std::int32_t num_computed_tokens_after(const RowTrace& row, const ScheduledTrace& scheduled);

}  // namespace hybridscope
