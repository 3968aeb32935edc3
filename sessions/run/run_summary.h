// The totals of a run, whether the run meets the scenario's expectations, and which requests
// starve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/check/finding.h"
#include "core/engine/engine_config.h"
#include "core/trace/step_trace.h"
#include "sessions/explain/explain_names.h"
#include "sessions/run/run_plan.h"
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

// Requests that wait step after step because what is left of the budget reaches no block boundary
// (mode align, SkipReason::split_to_zero), and the budget that ends it.

// Between two tokens of one request, or before its first one.
struct StarvedRequest {
  RequestId request{};
  std::int64_t first_step = 0;
  std::int64_t last_step = 0;
  std::int64_t num_steps = 0;         // in which this was why it got no token
  std::int32_t most_tokens_left = 0;  // of the budget, in any of them
  std::int32_t num_missing =
      0;  // tokens with which the one with most left had reached the boundary
  friend bool operator==(const StarvedRequest&, const StarvedRequest&) = default;
};

class StarvationWatch {
 public:
  // Fewer steps in a row are no more than waiting for one's turn.
  static constexpr std::int64_t kFewestSteps = 8;

  explicit StarvationWatch(const EngineConfig& config);
  // Every step, in order.
  void add(const StepTrace& trace);
  // The longest time of each request that waited for at least kFewestSteps steps; the one that
  // waited longest comes first.
  std::vector<StarvedRequest> starved() const;

 private:
  void take(std::unordered_map<std::int32_t, StarvedRequest>::iterator waiting);

  std::int32_t block_size_ = 1;
  bool splits_ = false;                                       // mode align
  std::unordered_map<std::int32_t, StarvedRequest> waiting_;  // now, by request
  std::unordered_map<std::int32_t, StarvedRequest> longest_;  // by request
};

struct Starvation {
  struct Request {
    StarvedRequest waited;
    std::string name;
  };
  std::vector<Request> requests;  // the one that waited longest comes first
  // The smallest that was tried with which the plan's run starves nobody; empty: none of the tries
  // did, or nothing was tried.
  std::optional<std::int32_t> max_num_batched_tokens;

  // "A got no token in 55 steps (3 to 57): what was left of max_num_batched_tokens 16, at most 7
  // tokens, reached no end of a block of 8; with max_num_batched_tokens 17 no request waits so".
  std::string words(const EngineConfig& config) const;
};

// Who starved, and what ends it; empty: nobody did. Each try runs the plan again, unchecked, as
// long as all of them together have at most `max_rows` rows; 0: nothing is tried.
std::optional<Starvation> find_starvation(const RunPlan& plan, const StarvationWatch& watch,
                                          const Names& names, std::int64_t max_rows);

}  // namespace hybridscope
