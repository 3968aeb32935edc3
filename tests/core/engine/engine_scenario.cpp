#include "tests/core/engine/engine_scenario.h"

#include <algorithm>

#include "core/caching/mamba_manager_policies.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test {
namespace {

// One value in [0, count) for each (purpose, index) of a shape.
enum class Purpose : std::uint64_t {
  parent,
  outputs,
  family,
  shared,
  tail,
  max_tokens,
  priority,
  salt,
  arrival,
  budget,
  step,
  victim,
  kind
};

class Draws {
 public:
  explicit Draws(std::uint64_t seed) : seed_(seed) {}
  int below(int count, Purpose purpose, int index) const {
    const std::uint64_t value = mix(mix(seed_, static_cast<std::uint64_t>(purpose)),
                                    static_cast<std::uint64_t>(index) + 17);
    return static_cast<int>((value >> 20) % static_cast<std::uint64_t>(std::max(count, 1)));
  }
  int between(int low, int high, Purpose purpose, int index) const {
    return low + below(high - low + 1, purpose, index);
  }

 private:
  std::uint64_t seed_;
};

constexpr std::int32_t kLongestPrompt = 64;

std::int32_t prompt_length(const AddRequest& request) {
  std::int32_t length = 0;
  for (const PromptSegment& segment : request.prompt) length += segment.length;
  return length;
}

void add_segment(AddRequest& request, PromptSegment segment) {
  segment.length = std::min(segment.length, kLongestPrompt - prompt_length(request));
  if (segment.length > 0) request.prompt.push_back(segment);
}

// A prompt that starts like those of its family, or like an earlier request's prompt and output.
AddRequest make_request(const ScenarioShape& shape, const std::vector<AddRequest>& earlier) {
  const Draws draws(shape.seed);
  const int i = static_cast<int>(earlier.size());
  AddRequest request;
  request.name = "r" + std::to_string(i);
  request.key = key_of_request(i);
  if (i > 0 && draws.below(3, Purpose::parent, i) == 0) {
    const AddRequest& parent =
        earlier[static_cast<std::size_t>(draws.below(i, Purpose::parent, i + 100))];
    request.prompt = parent.prompt;
    add_segment(request, {.source = PromptSegment::Source::output,
                          .content = parent.key,
                          .first = prompt_length(parent),
                          .length = draws.between(0, parent.max_tokens, Purpose::outputs, i)});
  } else {
    add_segment(request, {.content = draws.below(3, Purpose::family, i) == 0 ? 1U : 0U,
                          .length = draws.between(1, shape.longest_text, Purpose::shared, i)});
  }
  if (draws.below(3, Purpose::tail, i) > 0)
    add_segment(request, {.content = 100 + static_cast<std::uint64_t>(i),
                          .first = prompt_length(request),
                          .length = draws.between(1, 12, Purpose::tail, i + 100)});
  request.max_tokens = draws.between(1, shape.longest_output, Purpose::max_tokens, i);
  request.priority = draws.below(3, Purpose::priority, i);
  if (draws.below(12, Purpose::salt, i) == 0) request.cache_salt = 7;
  return request;
}

EngineConfig make_config(const ScenarioShape& shape, const std::vector<AddRequest>& requests) {
  const bool none = shape.mode == MambaCacheMode::none;
  const int spec = none ? shape.num_speculative_tokens
                        : std::min(shape.num_speculative_tokens, shape.block_size - 1);
  std::int32_t longest_prompt = 0;
  std::int32_t longest = 0;
  for (const AddRequest& request : requests) {
    longest_prompt = std::max(longest_prompt, prompt_length(request));
    longest = std::max(longest, prompt_length(request) + request.max_tokens);
  }
  EngineConfig config = engine_config(
      {.mamba_type = shape.mamba_type,
       .mode = shape.mode,
       .block_size = shape.block_size,
       .num_speculative_tokens = spec,
       .method = shape.ngram ? SpeculativeMethod::ngram : SpeculativeMethod::mtp,
       .num_mamba_groups = shape.num_mamba_groups,
       .max_model_len = std::max(longest_prompt + 1, longest + 1 - shape.cut_model_len),
       .max_num_seqs = shape.max_num_seqs,
       .max_num_batched_tokens =
           std::max(shape.block_size, spec + 1) + shape.extra_batched_tokens});
  if (shape.second_attention_blocks > 0) {
    // Behind the first attention group; hits of all groups together end on its blocks.
    const std::int32_t block_size = shape.second_attention_blocks * shape.block_size;
    auto& groups = config.kv_cache_config.groups;
    groups.insert(groups.begin() + 1, {.spec = FullAttentionSpec{block_size, 4096}, .layers = {9}});
    config.scheduler_block_size = block_size;
  }
  config.policies.set(PromptTailKey::never);  // the oracle has whole blocks
  config.conv_kernel = shape.conv_kernel;
  config.async_scheduling = shape.asynchronous && !shape.ngram;
  config.kv_consumer = shape.kv_consumer;
  for (KVCacheGroup& group : config.kv_cache_config.groups)
    if (group.is_mamba())
      std::get<MambaSpec>(group.spec).states.front().shape = {shape.conv_kernel - 1 + spec, 8};
  config.long_prefill_token_threshold = shape.long_prefill_blocks * shape.block_size;
  config.scheduler_reserve_full_isl = shape.reserve_full_isl;
  config.watermark = shape.watermark_percent / 100.0;
  config.enable_chunked_prefill = shape.chunked_prefill;
  if (!shape.chunked_prefill) config.max_num_batched_tokens += config.max_model_len;
  config.scheduling_policy = shape.priority ? SchedulingPolicy::priority : SchedulingPolicy::fcfs;
  config.seed = shape.seed;
  config.acceptance_rate = shape.acceptance_percent / 100.0;
  config.cudagraph_mode = shape.graph_mode;
  // Within the budget, and the first one holds a verify row.
  for (int size = shape.capture_every; size > 0 && size <= 4 * shape.capture_every;
       size += shape.capture_every)
    config.cudagraph_capture_sizes.push_back(
        std::clamp(size, spec + 1, config.max_num_batched_tokens));
  if (shape.runner_v2) config.runner = ModelRunner::v2;
  const std::int64_t needed =
      blocks_one_request_needs(config, std::min(longest, config.max_model_len));
  config.kv_cache_config.num_blocks = 1 + static_cast<int>(needed) + shape.extra_blocks;
  config.max_num_seqs = std::min(config.max_num_seqs, config.kv_cache_config.num_blocks);
  return config;
}

void add_disturbances(const ScenarioShape& shape, int last_arrival, EngineScenario& scenario) {
  const Draws draws(shape.seed);
  const int last_step = last_arrival + 20;
  int index = 0;
  const auto put = [&](const auto& command_of) {
    const RequestId victim{draws.below(shape.num_requests, Purpose::victim, index)};
    scenario.commands.push_back(
        {draws.between(1, last_step, Purpose::step, index), command_of(victim)});
    ++index;
  };
  for (int i = 0; i < shape.num_preemptions; ++i)
    put([](RequestId id) { return Command{PreemptRequest{id}}; });
  for (int i = 0; i < shape.num_aborts; ++i)
    put([](RequestId id) { return Command{AbortRequest{id}}; });
  for (int i = 0; i < shape.num_resets; ++i)
    put([&](RequestId) {
      return Command{ResetPrefixCache{draws.below(2, Purpose::kind, i) == 1}};
    });
  const int largest = std::min(14, scenario.config.max_num_batched_tokens);
  for (int step = 0; step < shape.num_budget_steps; ++step)
    if (draws.below(4, Purpose::budget, step) > 1)
      scenario.commands.push_back(
          {step, SetStepBudget{draws.between(0, largest, Purpose::budget, step + 1000)}});
}

}  // namespace

EngineScenario make_scenario(const ScenarioShape& shape) {
  std::vector<AddRequest> requests;
  while (static_cast<int>(requests.size()) < shape.num_requests)
    requests.push_back(make_request(shape, requests));
  EngineScenario scenario{.config = make_config(shape, requests), .commands = {}};
  int step = 0;
  for (int i = 0; i < shape.num_requests; ++i) {
    if (i > 0)
      step += Draws(shape.seed).between(0, shape.steps_between_arrivals, Purpose::arrival, i);
    scenario.commands.push_back({step, requests[static_cast<std::size_t>(i)]});
  }
  add_disturbances(shape, step, scenario);
  std::ranges::stable_sort(scenario.commands, {}, &ScheduledCommand::step);
  return scenario;
}

}  // namespace hybridscope::test
