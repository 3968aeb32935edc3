#include "sessions/conformance/vector_engine_config.h"
#include "sessions/conformance/vector_table.h"

#include <fmt/core.h>

#include <array>

#include "core/engine/policy_table.h"

namespace hybridscope {
namespace {

// Products and sums of block counts up to this fit 32 bits.
constexpr std::int32_t kMaxBlocks = 1 << 20;
constexpr std::int32_t kMaxBlockSize = 1 << 22;
constexpr std::int32_t kMaxSpeculation = 1 << 8;
constexpr std::int32_t kMaxConfigTokens = 1 << 26;
constexpr std::size_t kMaxGroups = 64;
// A worker keeps tables of so many tokens for so many rows.
constexpr std::int32_t kMaxWorkerTokens = 1 << 14;
constexpr std::int32_t kMaxWorkerRows = 1 << 8;

MambaCacheMode read_mode(const JsonValue& name) {
  return std::array{MambaCacheMode::none, MambaCacheMode::all,
                    MambaCacheMode::align}[name.one_of({"none", "all", "align"})];
}

KVCacheGroup read_group(const JsonValue& group, MambaCacheMode mode,
                        std::int32_t num_speculative_blocks) {
  KVCacheGroup result;
  const auto is_eagle = group.find_non_null("is_eagle_group");
  result.is_eagle_group = is_eagle && is_eagle->boolean();
  const std::int32_t block_size = group["block_size"].int32({1, kMaxBlockSize});
  if (group["type"].one_of({"full", "mamba"}) == 0) {
    result.spec = FullAttentionSpec{.block_size = block_size};
    return result;
  }
  MambaSpec spec;
  spec.block_size = block_size;
  spec.mamba_cache_mode = mode;
  spec.num_speculative_blocks = num_speculative_blocks;
  result.spec = spec;
  return result;
}

KVCacheConfig read_kv_cache_config(const JsonValue& config, MambaCacheMode mode,
                                   std::int32_t num_speculative_blocks) {
  KVCacheConfig result;
  result.num_blocks = config["num_blocks"].int32({1, kMaxBlocks});
  const JsonValue groups = config["groups"];
  for (const JsonValue& group : groups.elements())
    result.groups.push_back(read_group(group, mode, num_speculative_blocks));
  if (result.groups.size() > kMaxGroups)
    groups.fail(fmt::format("expected at most {} groups, found {}", kMaxGroups, groups.size()));
  return result;
}

}  // namespace

EngineConfig read_cache_config(const JsonValue& config) {
  EngineConfig result;
  result.mamba_cache_mode = read_mode(config["mamba_cache_mode"]);
  result.kv_cache_config =
      read_kv_cache_config(config, result.mamba_cache_mode,
                           config["num_speculative_blocks"].int32({0, kMaxSpeculation}));
  result.scheduler_block_size = config["scheduler_block_size"].int32({1, kMaxConfigTokens});
  result.hash_block_size = config["hash_block_size"].int32({1, kMaxConfigTokens});
  result.speculative_method =
      config["use_eagle"].boolean() ? SpeculativeMethod::mtp : SpeculativeMethod::none;
  const auto max_model_len = config.find_non_null("max_model_len");
  result.max_model_len =
      max_model_len ? max_model_len->int32({1, kMaxConfigTokens}) : kMaxConfigTokens;
  const auto enable_caching = config.find_non_null("enable_caching");
  result.enable_prefix_caching = !enable_caching || enable_caching->boolean();
  const auto watermark = config.find_non_null("watermark");
  result.watermark = watermark ? watermark->number() : 0.0;
  result.policies = reference_policies();
  return result;
}

namespace {

void read_scheduler_settings(const JsonValue& config, EngineConfig& result) {
  result.block_size = config["block_size"].int32({1, kMaxBlockSize});
  result.max_num_seqs = config["max_num_seqs"].int32({1, kMaxBlocks});
  result.max_num_batched_tokens = config["max_num_batched_tokens"].int32({0, kMaxConfigTokens});
  result.long_prefill_token_threshold =
      config["long_prefill_token_threshold"].int32({0, kMaxConfigTokens});
  result.enable_chunked_prefill = config["enable_chunked_prefill"].boolean();
  result.scheduler_reserve_full_isl = config["reserve_full_isl"].boolean();
  result.scheduling_policy = config["policy"].one_of({"fcfs", "priority"}) == 0
                                 ? SchedulingPolicy::fcfs
                                 : SchedulingPolicy::priority;
}

SpeculativeMethod read_method(const JsonValue& config) {
  const auto method = config.find_non_null("method");
  if (!method) return SpeculativeMethod::none;
  return std::array{
      SpeculativeMethod::mtp, SpeculativeMethod::mtp, SpeculativeMethod::ngram,
      SpeculativeMethod::draft_model}[method->one_of({"mtp", "eagle3", "ngram", "draft_model"})];
}

ModelRunner read_runner(const JsonValue& config) {
  return config["runner"].one_of({"v1", "v2"}) == 0 ? ModelRunner::v1 : ModelRunner::v2;
}

// Mode, K and the groups of blocks, as the vectors of releases have them.
EngineConfig read_release_groups(const JsonValue& config) {
  EngineConfig result;
  result.mamba_cache_mode = read_mode(config["mamba_cache_mode"]);
  result.num_speculative_tokens = config["num_spec_tokens"].int32({0, kMaxSpeculation});
  result.kv_cache_config =
      read_kv_cache_config(config, result.mamba_cache_mode, result.num_speculative_tokens);
  return result;
}

}  // namespace

EngineConfig read_scheduler_config(const JsonValue& config) {
  EngineConfig result = read_cache_config(config);
  read_scheduler_settings(config, result);
  result.num_speculative_tokens = config["num_spec_tokens"].int32({0, kMaxSpeculation});
  if (result.num_speculative_tokens > 0 && result.speculative_method == SpeculativeMethod::none)
    result.speculative_method = SpeculativeMethod::ngram;
  return result;
}

EngineConfig read_release_config(const JsonValue& config, Release release) {
  EngineConfig result = read_release_groups(config);
  result.scheduler_block_size = config["scheduler_block_size"].int32({1, kMaxConfigTokens});
  result.hash_block_size = config["hash_block_size"].int32({1, kMaxConfigTokens});
  result.max_model_len = config["max_model_len"].int32({1, kMaxConfigTokens});
  result.enable_prefix_caching = config["enable_caching"].boolean();
  result.watermark = config["watermark"].number();
  result.speculative_method = read_method(config);
  read_scheduler_settings(config, result);
  result.async_scheduling = config["async"].boolean();
  result.runner = read_runner(config);
  if (const auto interval = config.find_non_null("retention_interval"))
    result.prefix_cache_retention_interval = interval->int32({0, kMaxConfigTokens});
  if (const auto disabled = config.find_non_null("disable_eagle_block_drop"))
    result.disable_eagle_block_drop = disabled->boolean();
  if (const auto shared = config.find_non_null("shared_prefix_checkpoint"))
    result.enable_mamba_shared_prefix_checkpoint = shared->boolean();
  // The vectors give what the settings come to.
  if (const auto lookahead = config.find_non_null("num_hash_lookahead_tokens"))
    result.disable_lookahead_block_hashes = lookahead->int32() == 0;
  for (KVCacheGroup& group : result.kv_cache_config.groups)
    if (auto* mamba = std::get_if<MambaSpec>(&group.spec)) {
      if (const auto blocks = config.find_non_null("num_prefill_checkpoint_blocks"))
        mamba->num_prefill_checkpoint_blocks = blocks->int32({0, 1});
      if (const auto alignment = config.find_non_null("prefill_checkpoint_alignment"))
        mamba->prefill_checkpoint_alignment = alignment->int32({0, kMaxConfigTokens});
    }
  result.policies = release_policies(release, result.runner);
  return result;
}

EngineConfig read_release_worker_config(const JsonValue& config, Release release) {
  EngineConfig result = read_release_groups(config);
  result.block_size = config["block_size"].int32({1, kMaxBlockSize});
  result.max_model_len = config["max_model_len"].int32({1, kMaxWorkerTokens});
  result.max_num_seqs = config["max_num_seqs"].int32({1, kMaxWorkerRows});
  result.max_num_batched_tokens = config["max_num_batched_tokens"].int32({1, kMaxConfigTokens});
  result.enable_prefix_caching = result.mamba_cache_mode != MambaCacheMode::none;
  result.speculative_method = read_method(config);
  result.async_scheduling = config["async"].boolean();
  result.runner = read_runner(config);
  result.cudagraph_mode = CUDAGraphMode::none;  // no question is about graphs
  result.policies = release_policies(release, result.runner);
  return result;
}

void check_pool_size(const JsonValue& config, const JsonValue& calls) {
  const JsonValue num_blocks = config["num_blocks"];
  const auto num_calls = static_cast<std::int64_t>(calls.size());
  if (num_blocks.int32({1, kMaxBlocks}) * num_calls > kMaxVectorElements)
    num_blocks.fail(fmt::format("{} calls are too many for so many blocks", num_calls));
}

}  // namespace hybridscope
