// The tokens of a batch's rows and what each of them will sample: the part of "prepare inputs" and
// of sampling that does not care which runner laid out the rows (RUNNER 5.1).
#pragma once

#include <cstdint>
#include <vector>

#include "core/engine/acceptance.h"
#include "core/engine/engine_config.h"
#include "core/engine/engine_request.h"
#include "core/trace/step_trace.h"

namespace hybridscope {

class RowInputs {
 public:
  explicit RowInputs(const EngineConfig& config);

  // Call first in a step.
  void start_step() { planned_num_accepted_.clear(); }

  // Call for the rows in order, each with request, scheduled and its exact num_computed_tokens
  // filled in: writes its conv history and appends its tokens to the trace. What the row will
  // sample is settled here, because acceptance is keyed, but told to nobody before sample(). Uses
  // up a scripted count.
  void add(StepTrace& trace, RowTrace& row, EngineRequest& request);

  // Fills num_sampled_tokens of all rows and moves each request's worker half on: accepted count
  // and exact computed tokens.
  void sample(StepTrace& trace, RequestList& requests) const;

 private:
  std::int32_t plan_acceptance(StepTrace& trace, const RowTrace& row, EngineRequest& request) const;
  void append_tokens(StepTrace& trace, const RowTrace& row, const EngineRequest& request) const;
  void fill_history(RowTrace& row, EngineRequest& request) const;

  AcceptanceConfig acceptance_;
  std::int32_t conv_kernel_ = 4;
  std::vector<std::int32_t> planned_num_accepted_;  // [rows]
};

}  // namespace hybridscope
