#include "tests/core/engine/engine_scenario.h"

#include <algorithm>
#include <ostream>

#include "core/caching/manager_policies.h"
#include "core/engine/token_sequence.h"
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

ScenarioShape draw_shape(MambaCacheMode mode, const std::function<int(int, int)>& in) {
  const bool all = mode == MambaCacheMode::all;
  const MambaType types[] = {MambaType::mamba2, MambaType::mamba1, MambaType::gdn_attention};
  ScenarioShape shape;
  shape.seed = static_cast<std::uint64_t>(in(0, 1'000'000'000));
  shape.mode = mode;
  shape.mamba_type = types[in(0, all ? 1 : 2)];
  shape.block_size = in(1, 8);
  shape.num_speculative_tokens = in(0, 3);
  shape.ngram = in(0, 1) == 1;
  shape.num_mamba_groups = in(1, 3);
  shape.second_attention_blocks = in(0, 2) == 0 ? in(1, 3) : 0;
  shape.conv_kernel = in(2, 4);
  shape.num_requests = in(1, 7);
  shape.longest_text = in(1, 30);
  shape.longest_output = in(1, 20);
  shape.extra_blocks = in(0, 1) == 0 ? in(0, 4) : in(0, 60);
  shape.max_num_seqs = in(1, 5);
  shape.extra_batched_tokens = in(0, 40);
  shape.long_prefill_blocks = in(0, 3) == 0 ? in(1, 3) : 0;
  shape.cut_model_len = in(0, 2) == 0 ? in(1, 8) : 0;
  shape.steps_between_arrivals = in(0, 5);
  shape.num_budget_steps = in(0, 1) * in(1, 40);
  shape.num_preemptions = in(0, 1) * in(1, 4);
  shape.num_aborts = in(0, 4) / 4;
  shape.num_resets = in(0, 4) / 3;
  shape.acceptance_percent = 10 * in(0, 10);
  shape.watermark_percent = in(0, 3) == 3 ? in(1, 30) : 0;
  shape.reserve_full_isl = in(0, 1) == 1;
  shape.chunked_prefill = in(0, 7) > 0;
  shape.priority = in(0, 2) == 2;
  shape.graph_mode =
      in(0, 1) == 0 ? CUDAGraphMode::full_and_piecewise : static_cast<CUDAGraphMode>(in(0, 4));
  shape.capture_every = in(0, 1) * in(1, 7);
  shape.asynchronous = in(0, 1) == 1;
  shape.kv_consumer = in(0, 5) == 5;
  shape.runner_v2 = in(0, 1) == 1;
  return shape;
}

std::ostream& operator<<(std::ostream& out, const ScenarioShape& s) {
  return out << "{.seed = " << s.seed << "U, .mode = MambaCacheMode{" << int(s.mode)
             << "}, .mamba_type = MambaType{" << int(s.mamba_type)
             << "}, .block_size = " << s.block_size
             << ", .num_speculative_tokens = " << s.num_speculative_tokens
             << ", .ngram = " << s.ngram << ", .num_mamba_groups = " << s.num_mamba_groups
             << ", .second_attention_blocks = " << s.second_attention_blocks
             << ", .conv_kernel = " << s.conv_kernel << ", .num_requests = " << s.num_requests
             << ", .longest_text = " << s.longest_text << ", .longest_output = " << s.longest_output
             << ", .extra_blocks = " << s.extra_blocks << ", .max_num_seqs = " << s.max_num_seqs
             << ", .extra_batched_tokens = " << s.extra_batched_tokens
             << ", .long_prefill_blocks = " << s.long_prefill_blocks
             << ", .cut_model_len = " << s.cut_model_len
             << ", .steps_between_arrivals = " << s.steps_between_arrivals
             << ", .num_budget_steps = " << s.num_budget_steps
             << ", .num_preemptions = " << s.num_preemptions << ", .num_aborts = " << s.num_aborts
             << ", .num_resets = " << s.num_resets
             << ", .acceptance_percent = " << s.acceptance_percent
             << ", .watermark_percent = " << s.watermark_percent
             << ", .chunked_prefill = " << s.chunked_prefill
             << ", .reserve_full_isl = " << s.reserve_full_isl << ", .priority = " << s.priority
             << ", .graph_mode = CUDAGraphMode{" << int(s.graph_mode)
             << "}, .capture_every = " << s.capture_every << ", .asynchronous = " << s.asynchronous
             << ", .kv_consumer = " << s.kv_consumer << ", .runner_v2 = " << s.runner_v2 << "}";
}

namespace {

// Tokens of the oracle: a text or an output named in the upper bits, a position in the lower ones.
enum class OracleToken : std::uint64_t { text = 1, output = 2 };

std::uint64_t oracle_token(OracleToken kind, std::uint64_t content, int position) {
  return (static_cast<std::uint64_t>(kind) << 60) | (content << 20) |
         static_cast<std::uint64_t>(position);
}

}  // namespace

NaiveConfig naive_config(const EngineScenario& scenario) {
  const EngineConfig& config = scenario.config;
  const AcceptanceConfig acceptance{.seed = config.seed, .rate = config.acceptance_rate};
  const std::int32_t spec = config.num_speculative_tokens;
  const bool eagle = config.speculative_method == SpeculativeMethod::mtp;
  NaiveConfig naive;
  naive.mode = config.mamba_cache_mode == MambaCacheMode::none ? NaiveCacheMode::none
                                                               : NaiveCacheMode::align;
  naive.block_size = config.block_size;
  naive.num_blocks = config.kv_cache_config.num_blocks;
  naive.num_mamba_groups = 0;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    if (group.is_mamba())
      ++naive.num_mamba_groups;
    else
      naive.attention_block_sizes.push_back(group.block_size());
  naive.async_scheduling = config.async_scheduling;
  naive.runner = config.runner == ModelRunner::v2 ? NaiveRunner::v2 : NaiveRunner::v1;
  naive.num_speculative_tokens = spec;
  naive.use_eagle = eagle;
  naive.conv_width = config.conv_kernel;
  naive.max_model_len = config.max_model_len;
  naive.max_num_seqs = config.max_num_seqs;
  naive.max_num_batched_tokens = config.max_num_batched_tokens;
  naive.long_prefill_token_threshold = config.long_prefill_token_threshold;
  naive.enable_chunked_prefill = config.enable_chunked_prefill;
  naive.watermark = config.watermark;
  naive.full_sequence_must_fit = config.scheduler_reserve_full_isl;
  naive.policy = config.scheduling_policy == SchedulingPolicy::priority ? NaivePolicy::priority
                                                                        : NaivePolicy::fcfs;
  naive.output_token = [=](int request, int position) {
    return oracle_token(OracleToken::output, key_of_request(request), position);
  };
  // Drafts follow the one token that is known and not computed.
  naive.num_accepted = [=](int request, int c, int d) {
    return keyed_num_accepted_tokens(acceptance, key_of_request(request), c + 1, d);
  };
  const bool varies = draft_lists_vary(config);
  naive.num_drafts = [=](int request, int position) {
    return varies ? ngram_num_draft_tokens(acceptance, key_of_request(request), position, spec)
                  : spec;
  };
  return naive;
}

NaiveRequestSpec naive_request(const AddRequest& request, int arrival) {
  NaiveRequestSpec spec{.prompt = {},
                        .max_tokens = request.max_tokens,
                        .priority = request.priority,
                        .arrival = arrival,
                        .cache_salt = request.cache_salt};
  for (const PromptSegment& segment : request.prompt) {
    const OracleToken kind =
        segment.source == PromptSegment::Source::output ? OracleToken::output : OracleToken::text;
    for (int i = 0; i < segment.length; ++i)
      spec.prompt.push_back(oracle_token(kind, segment.content, segment.first + i));
  }
  return spec;
}

}  // namespace hybridscope::test
