#include "sessions/judge/engine_difference.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/base/check.h"

namespace hybridscope {
namespace {

using enum EngineDecision;

// In the order of the enum.
constexpr std::array kRows = {
    EngineDecisionRow{finished_req_ids, "finished_req_ids", "schedule",
                      "Scheduler.update_from_output"},
    EngineDecisionRow{preempted_req_ids, "preempted_req_ids", "schedule", "Scheduler.schedule"},
    EngineDecisionRow{scheduled_requests, "scheduled requests", "schedule", "Scheduler.schedule"},
    EngineDecisionRow{schedule_order, "order of scheduled requests", "schedule",
                      "Scheduler.schedule"},
    EngineDecisionRow{admission, "admission", "schedule", "Scheduler.schedule"},
    EngineDecisionRow{num_computed_tokens, "num_computed_tokens", "schedule", ""},
    EngineDecisionRow{num_scheduled_tokens, "num_scheduled_tokens", "schedule", ""},
    EngineDecisionRow{scheduled_spec_decode_tokens, "scheduled_spec_decode_tokens", "schedule",
                      "Scheduler.schedule"},
    EngineDecisionRow{scheduler_block_ids, "scheduler_block_ids", "schedule",
                      "KVCacheManager.allocate_slots"},
    EngineDecisionRow{new_block_ids, "new_block_ids", "schedule", "KVCacheManager.allocate_slots"},
    EngineDecisionRow{row_order, "input_batch.req_ids", "prepare", ""},
    EngineDecisionRow{idx_mapping, "input_batch.idx_mapping", "prepare",
                      "RequestState.add_request"},
    EngineDecisionRow{worker_block_ids, "input_batch.block_ids", "prepare",
                      "GPUModelRunner._update_states"},
    EngineDecisionRow{row_num_computed_tokens, "input_batch.num_computed_tokens", "prepare",
                      "GPUModelRunner._prepare_inputs"},
    EngineDecisionRow{num_accepted_tokens, "num_accepted_tokens_cpu", "prepare",
                      "InputBatch.add_request, GPUModelRunner._update_states_after_model_execute"},
    EngineDecisionRow{cudagraph, "cudagraph", "prepare", "CudagraphDispatcher.dispatch"},
    EngineDecisionRow{preprocess_copies, "preprocess_copies", "prepare", "preprocess_mamba"},
    EngineDecisionRow{num_accepted_tokens_after_preprocess, "num_accepted_tokens_after_preprocess",
                      "prepare", "preprocess_mamba"},
    EngineDecisionRow{mamba_state_idx, "mamba_state_idx", "prepare", "preprocess_mamba"},
    EngineDecisionRow{attn_metadata, "attn_metadata", "prepare", ""},
    EngineDecisionRow{sampled_token_ids, "sampled_token_ids", "sample",
                      "Scheduler.update_from_output"},
    EngineDecisionRow{postprocess_copies, "postprocess_copies", "sample",
                      "postprocess_mamba_fused_kernel"},
    EngineDecisionRow{our_engine, "our engine", "schedule", ""},
};

std::string place_of(const EngineDifference& difference) {
  std::string text = fmt::format("step {}", difference.step);
  if (!difference.request.empty()) text += ", request " + difference.request;
  const auto append = [&](std::string_view name, std::int64_t value) {
    if (value >= 0) text += fmt::format(", {} {}", name, value);
  };
  append("row", difference.row);
  append("group", difference.group);
  append("column", difference.column);
  if (!difference.field.empty()) text += ", " + difference.field;
  append("index", difference.index);
  return text;
}

}  // namespace

const EngineDecisionRow& engine_decision_row(EngineDecision decision) {
  const EngineDecisionRow& row = kRows.at(static_cast<std::size_t>(decision));
  HS_EXPECT(row.decision == decision);
  return row;
}

std::string format_difference(const EngineDifference& difference) {
  std::string text = fmt::format("{}: {}: ours {}, trace {}", place_of(difference),
                                 engine_decision_row(difference.decision).name, difference.expected,
                                 difference.traced);
  if (!difference.rule.empty()) text += fmt::format(" (rule: {})", difference.rule);
  return text;
}

nlohmann::ordered_json difference_to_json(const EngineDifference& difference) {
  const EngineDecisionRow& row = engine_decision_row(difference.decision);
  nlohmann::ordered_json json = {{"step", difference.step},
                                 {"line", difference.line},
                                 {"phase", row.phase},
                                 {"decision", row.name}};
  if (!difference.request.empty()) json["request"] = difference.request;
  const auto number = [&](const char* name, std::int64_t value) {
    if (value >= 0) json[name] = value;
  };
  number("row", difference.row);
  number("group", difference.group);
  number("column", difference.column);
  if (!difference.field.empty()) json["field"] = difference.field;
  number("index", difference.index);
  json["ours"] = difference.expected;
  json["trace"] = difference.traced;
  if (!difference.rule.empty()) json["rule"] = difference.rule;
  return json;
}

namespace {

std::string block_text(std::span<const std::int32_t> ids, std::size_t column) {
  return column < ids.size() ? fmt::format("block {}", ids[column]) : std::string("no block");
}

}  // namespace

MaybeDifference compare_blocks(const EngineDifference& place,
                               std::span<const std::int32_t> expected,
                               std::span<const std::int32_t> traced) {
  const auto [ours, theirs] = std::ranges::mismatch(expected, traced);
  if (ours == expected.end() && theirs == traced.end()) return std::nullopt;
  const auto column = static_cast<std::size_t>(ours - expected.begin());
  EngineDifference found = place;
  found.column = static_cast<std::int32_t>(column);
  found.expected = block_text(expected, column);
  found.traced = block_text(traced, column);
  return found;
}

}  // namespace hybridscope
