// The totals of a run, and whether the run meets the scenario's expectations.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/check/finding.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/scenario/scenario.h"

namespace hybridscope {

struct RunSummary {
  std::int64_t steps = 0;
  std::int64_t request_steps = 0;  // rows over all steps
  std::int64_t requests_finished = 0;
  std::int64_t prompt_tokens = 0;  // of the admitted requests, once each
  std::int64_t prefix_hit_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t state_copies = 0;      // decisions that copy, times mamba groups
  std::int64_t state_copy_bytes = 0;  // summed over all layers of the groups
  std::int64_t graph_padded_tokens = 0;
  friend bool operator==(const RunSummary&, const RunSummary&) = default;
};

class SummaryBuilder {
 public:
  explicit SummaryBuilder(const EngineConfig& config);
  void add(const StepTrace& trace);
  const RunSummary& summary() const { return summary_; }
  // Bytes that one copy moves in all layers of a group: conv windows without their first
  // `accept_token_bias` positions, and complete temporal states.
  std::int64_t copy_bytes(std::int32_t group, std::int32_t accept_token_bias) const;

 private:
  struct GroupBytes {
    std::int64_t conv_position = 0;  // one token position of the conv windows, all layers
    std::int64_t temporal = 0;       // all layers
  };
  std::vector<GroupBytes> bytes_;  // [groups]
  std::int32_t conv_state_len_ = 0;
  RunSummary summary_;
};

// Compares a run with its scenario's `expect`.
class ExpectationCheck {
 public:
  explicit ExpectationCheck(const Expectation& expectation);

  // Is the finding one of the expected ones? Always false when the scenario says nothing about
  // findings.
  bool expects(const Finding& finding, const Names& names);

  // The unmet expectations, one sentence each.
  std::vector<std::string> unmet(const RunSummary& summary) const;

 private:
  Expectation expectation_;
  std::vector<std::int64_t> seen_;  // [expected findings]
};

}  // namespace hybridscope
