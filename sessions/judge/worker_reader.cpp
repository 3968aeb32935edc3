// Reads the worker's part of a step: the rows of its batch, its state copies, its graph and its
// samples.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "sessions/judge/step_parts.h"

namespace hybridscope {
namespace {

// In the order of CUDAGraphMode.
constexpr std::array<std::string_view, 3> kRuntimeModes = {"NONE", "PIECEWISE", "FULL"};
constexpr std::int32_t kMaxGraphTokens = 1 << 24;
constexpr std::int32_t kMaxGraphReqs = 1 << 16;

void read_rows(const LineValue& req_ids, StepContext& context) {
  context.requests.begin_list();
  for_each_element(req_ids, context.errors, [&](const LineValue& element) {
    const std::string_view name = string_of(element, context.errors);
    if (context.errors.failed()) return;
    const std::optional<RequestId> request = scheduled_request(element, name, context);
    if (!request) return;
    expect_first_in_list(element, *request, context);
    context.step.rows.push_back({.request = *request});
  });
  if (context.errors.failed()) return;
  for (const ForeignCount& scheduled : context.step.num_scheduled_tokens)
    if (context.requests.first_in_list(scheduled.request))
      fail(req_ids,
           fmt::format("request {} of num_scheduled_tokens is missing",
                       quoted_text(context.requests.name_of(scheduled.request))),
           context.errors);
}

void read_row_counts(const LineValue& batch, StepContext& context) {
  std::vector<ForeignRow>& rows = context.step.rows;
  const auto read = [&](std::string_view key, std::int32_t ForeignRow::*member) {
    for_each_parallel(batch, key, rows.size(), context, [&](std::size_t i, const LineValue& e) {
      rows[i].*member = read_token_count(e, context);
    });
  };
  read("num_computed_tokens_cpu", &ForeignRow::num_computed_tokens_cpu);
  read("num_computed_tokens", &ForeignRow::num_computed_tokens);
  // The device's value overrides the host's copy, but runner V1 makes mode align's copies by the
  // host's, and gives the device that afterwards (vLLM v1/worker/mamba_utils.py preprocess_mamba).
  const bool host_decides = context.config.runner == ModelRunner::v1 &&
                            context.config.mamba_cache_mode == MambaCacheMode::align;
  const std::string_view first = host_decides ? "num_accepted_tokens" : "num_accepted_tokens_cpu";
  const std::string_view then = host_decides ? "num_accepted_tokens_cpu" : "num_accepted_tokens";
  read(first, &ForeignRow::num_accepted_tokens);
  read(then, &ForeignRow::num_accepted_tokens);
  read("num_accepted_tokens_after_preprocess", &ForeignRow::num_accepted_tokens_after_preprocess);
}

// V2: each row's slot.
void read_slots(const LineValue& batch, StepContext& context) {
  const auto slots = find_member(batch, "idx_mapping");
  if (!slots) return;
  if (context.config.runner != ModelRunner::v2)
    return fail(*slots, "runner v1 has no slots (expected \"runner\": \"v2\" in the header)",
                context.errors);
  std::vector<ForeignRow>& rows = context.step.rows;
  for_each_parallel(
      batch, "idx_mapping", rows.size(), context, [&](std::size_t i, const LineValue& e) {
        rows[i].slot = int32_of(e, {0, context.limits.max_num_seqs - 1}, context.errors);
      });
}

// Runner V1 has the counts on the host. With asynchronous scheduling it does not in every mode wait
// for them, so none are required.
bool host_has_counts(const EngineConfig& config) {
  return config.runner == ModelRunner::v1 && !config.async_scheduling;
}

IntegerRange mamba_columns(const StepContext& context) {
  return {0, std::max(context.limits.max_mamba_columns - 1, 0)};
}

void read_copy_of_columns(const LineValue& value, ForeignCopy& copy, StepContext& context) {
  if (const auto source = require_member(value, "src_block_idx", context.errors))
    copy.src_block_idx = int32_of(*source, mamba_columns(context), context.errors);
  if (const auto target = require_member(value, "dest_block_idx", context.errors))
    copy.dest_block_idx = int32_of(*target, mamba_columns(context), context.errors);
}

void read_copy_of_blocks(const LineValue& value, ForeignCopy& copy, StepContext& context) {
  const IntegerRange blocks{0, context.limits.num_blocks - 1};
  // A layer without one kind of state has no source for that kind.
  const auto read = [&](std::string_view key, std::int32_t& id) {
    if (const auto member = find_member(value, key)) id = int32_of(*member, blocks, context.errors);
  };
  read("conv_src_block_id", copy.conv_src_block_id);
  read("temporal_src_block_id", copy.temporal_src_block_id);
  if (copy.conv_src_block_id < 0 && copy.temporal_src_block_id < 0)
    require_member(value, "conv_src_block_id", context.errors);
  if (const auto target = require_member(value, "dest_block_id", context.errors))
    copy.dest_block_id = int32_of(*target, blocks, context.errors);
}

void read_copy_group(const LineValue& value, ForeignCopy& copy, StepContext& context) {
  const auto group = find_member(value, "group");
  if (!group) return read_copy_of_columns(value, copy, context);
  copy.group = int32_of(*group, {0, context.limits.num_groups() - 1}, context.errors);
  if (!context.limits.is_mamba[static_cast<std::size_t>(copy.group)])
    fail_type(*group, "the number of a mamba group", context.errors);
  read_copy_of_blocks(value, copy, context);
}

void read_sampled(const LineValue& output, std::vector<ForeignStep::Sampled>& sampled,
                  StepContext& context) {
  std::vector<std::size_t> rows;
  context.requests.begin_list();
  for_each_element(*find_member(output, "req_ids"), context.errors, [&](const LineValue& element) {
    const std::string_view name = string_of(element, context.errors);
    if (context.errors.failed()) return;
    const std::optional<RequestId> request = scheduled_request(element, name, context);
    if (!request) return;
    expect_first_in_list(element, *request, context);
    rows.push_back(static_cast<std::size_t>(context.requests.in_step(*request).row));
  });
  if (context.errors.failed()) return;
  for_each_parallel(output, "sampled_token_ids", rows.size(), context,
                    [&](std::size_t i, const LineValue& e) {
                      sampled[rows[i]].token_ids = read_token_ids(e, -1, context);
                    });
}

}  // namespace

void read_input_batch(const LineValue& value, StepContext& context) {
  const std::optional<LineValue> req_ids = require_member(value, "req_ids", context.errors);
  if (!req_ids) return;
  read_rows(*req_ids, context);
  if (context.errors.failed()) return;
  if (context.limits.num_speculative_tokens > 0 && host_has_counts(context.config) &&
      !find_member(value, "num_accepted_tokens") &&
      !require_member(value, "num_accepted_tokens_cpu", context.errors))
    return;
  read_slots(value, context);
  read_row_counts(value, context);
  std::vector<ForeignRow>& rows = context.step.rows;
  for_each_parallel(value, "mamba_state_idx", rows.size(), context,
                    [&](std::size_t i, const LineValue& e) {
                      rows[i].mamba_state_idx = int32_of(e, mamba_columns(context), context.errors);
                    });
  for_each_parallel(value, "block_ids", rows.size(), context,
                    [&](std::size_t i, const LineValue& e) {
                      rows[i].block_ids = read_optional_block_lists(e, context);
                    });
}

std::vector<ForeignCopy> read_copies(const LineValue& value, StepContext& context) {
  std::vector<ForeignCopy> copies;
  for_each_element(value, context.errors, [&](const LineValue& element) {
    const std::optional<LineValue> req_id = require_member(element, "req_id", context.errors);
    if (!req_id) return;
    const std::optional<RequestId> request = live_request(*req_id, context);
    if (!request) return;
    ForeignCopy copy{.request = *request};
    read_copy_group(element, copy, context);
    if (const auto bias = find_member(element, "accept_token_bias"))
      copy.accept_token_bias = read_token_count(*bias, context);
    copies.push_back(copy);
  });
  return copies;
}

ForeignGraph read_cudagraph(const LineValue& value, StepContext& context) {
  ForeignGraph graph;
  JsonErrors& errors = context.errors;
  const auto mode = require_member(value, "cudagraph_runtime_mode", errors);
  if (!mode) return graph;
  graph.cudagraph_runtime_mode =
      static_cast<CUDAGraphMode>(choice_of(*mode, kRuntimeModes, errors));
  const bool full = graph.cudagraph_runtime_mode == CUDAGraphMode::full;
  const auto padded = [&](std::string_view key, std::int32_t most, std::int32_t& count) {
    const auto member = full ? require_member(value, key, errors) : find_member(value, key);
    if (member && (full || !member->element.is_null()))
      count = int32_of(*member, {full ? 1 : 0, most}, errors);
  };
  padded("num_tokens", kMaxGraphTokens, graph.num_tokens);
  padded("num_reqs", kMaxGraphReqs, graph.num_reqs);
  if (const auto uniform = find_member(value, "uniform"))
    graph.uniform = boolean_of(*uniform, errors);
  return graph;
}

void read_model_runner_output(const LineValue& value, StepContext& context) {
  for (const std::string_view key : {"req_ids", "sampled_token_ids"})
    if (!require_member(value, key, context.errors)) return;
  std::vector<ForeignStep::Sampled>& sampled = context.step.sampled_token_ids.emplace();
  for (const ForeignCount& scheduled : context.step.num_scheduled_tokens)
    sampled.push_back({.request = scheduled.request, .token_ids = {}});
  read_sampled(value, sampled, context);
}

}  // namespace hybridscope
