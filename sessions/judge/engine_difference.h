// The first place where another engine decided differently from ours, as a value and in words.
#pragma once

#include <fmt/core.h>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/engine/engine_config.h"
#include "sessions/judge/foreign_trace.h"

namespace hybridscope {

// The decisions that are compared, in the order of a step; named after the trace's member if there
// is one.
enum class EngineDecision : std::uint8_t {
  finished_req_ids,
  preempted_req_ids,
  scheduled_requests,
  schedule_order,
  admission,
  num_computed_tokens,
  num_scheduled_tokens,
  scheduled_spec_decode_tokens,
  scheduler_block_ids,
  new_block_ids,
  row_order,
  idx_mapping,
  worker_block_ids,
  row_num_computed_tokens,
  num_accepted_tokens,
  cudagraph,
  preprocess_copies,
  num_accepted_tokens_after_preprocess,
  mamba_state_idx,
  attn_metadata,
  sampled_token_ids,
  postprocess_copies,
  our_engine,  // our engine refuses to continue from the state that the trace led it to
};

// Name, phase of the step ("schedule", "prepare", "sample"), and the reference's function that has
// the rule, unless it varies.
struct EngineDecisionRow {
  EngineDecision decision{};
  std::string_view name;
  std::string_view phase;
  std::string_view rule;
};
const EngineDecisionRow& engine_decision_row(EngineDecision decision);

// Members that are -1 or empty do not apply.
struct EngineDifference {
  std::int64_t step = 0;
  std::int64_t line = 0;  // number of the trace's line
  EngineDecision decision = EngineDecision::our_engine;
  std::string request{};     // its name
  std::int32_t row = -1;     // of the batch
  std::int32_t group = -1;   // KV cache group
  std::int32_t column = -1;  // of the request's block list
  std::string field{};       // metadata field
  std::int64_t index = -1;   // into the list or array, in row-major order
  std::string expected{};    // our engine's decision
  std::string traced{};
  std::string rule{};  // the reference's function
  friend bool operator==(const EngineDifference&, const EngineDifference&) = default;
};

// An example of the text: "step 7, request r3, group 1, column 2: scheduler_block_ids: ours block
// 5, trace block 6 (rule: KVCacheManager.allocate_slots)".
std::string format_difference(const EngineDifference& difference);

// {step, line, phase, decision, ...}; members that do not apply are left out.
nlohmann::ordered_json difference_to_json(const EngineDifference& difference);

// One traced step under comparison, with what is needed to describe a difference.

using RequestName = std::function<std::string(RequestId)>;

struct ComparedStep {
  const ForeignStep& traced;
  const EngineConfig& config;  // of our engine, with the profile's policies
  const RequestName& name_of;

  // The difference without its `expected` and `traced`.
  EngineDifference difference(EngineDecision decision) const {
    return {.step = traced.step,
            .line = traced.line,
            .decision = decision,
            .rule = std::string(engine_decision_row(decision).rule)};
  }
  EngineDifference difference(EngineDecision decision, RequestId request) const {
    EngineDifference found = difference(decision);
    found.request = name_of(request);
    return found;
  }
};

// The first difference; empty: the two agree.
using MaybeDifference = std::optional<EngineDifference>;

// The difference between two numbers or names, if any.
template <class T>
MaybeDifference compare_values(EngineDifference place, const T& expected, const T& traced) {
  if (expected == traced) return std::nullopt;
  place.expected = fmt::format("{}", expected);
  place.traced = fmt::format("{}", traced);
  return place;
}

// Compares block lists column by column; `place` already has the group.
MaybeDifference compare_blocks(const EngineDifference& place,
                               std::span<const std::int32_t> expected,
                               std::span<const std::int32_t> traced);

}  // namespace hybridscope
