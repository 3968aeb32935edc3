#include "tests/core/engine/oracle_scenario.h"

#include "core/engine/acceptance.h"

namespace hybridscope::test {
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
