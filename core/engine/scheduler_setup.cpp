#include "core/engine/scheduler_setup.h"

#include <algorithm>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/metadata/metadata_builders.h"

namespace hybridscope {
namespace {

// The draft model of an MTP method follows EAGLE's rules.
bool use_eagle(const EngineConfig& config) {
  return config.speculative_method == SpeculativeMethod::mtp;
}

// Is the last block of a hit computed again for the draft model?
bool eagle_block_drop(const EngineConfig& config) {
  return use_eagle(config) && !config.disable_eagle_block_drop &&
         num_hash_lookahead_tokens(config) == 0;
}

// N-grams are looked up: they have no keys and values.
std::int32_t num_lookahead_tokens(const EngineConfig& config) {
  return use_eagle(config) || config.speculative_method == SpeculativeMethod::draft_model
             ? config.num_speculative_tokens
             : 0;
}

// Are the layers' kernels able to store a state inside a prefill, in every mamba group?
bool all_mamba_groups_checkpoint(const EngineConfig& config) {
  return std::ranges::all_of(config.kv_cache_config.groups, [](const KVCacheGroup& group) {
    const auto* mamba = std::get_if<MambaSpec>(&group.spec);
    return mamba == nullptr || mamba->num_prefill_checkpoint_blocks > 0;
  });
}

std::int32_t checkpoint_alignment(const EngineConfig& config) {
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    if (const auto* mamba = std::get_if<MambaSpec>(&group.spec))
      return mamba->prefill_checkpoint_alignment;
  return 0;
}

// Are junctions registered exactly where they are? Only for the draft model's sake.
bool registers_junctions(const EngineConfig& config) {
  const auto flagged = [](const KVCacheGroup& group) { return group.is_eagle_group; };
  return config.enable_mamba_shared_prefix_checkpoint && hits_end_inside_blocks(config) &&
         (eagle_block_drop(config) || std::ranges::any_of(config.kv_cache_config.groups, flagged));
}

// Does a prompt stop where its last hash block ends, inside a block?
bool stops_inside_blocks(const EngineConfig& config) {
  const PolicySet& policies = config.policies;
  if (policies.is(HitsInsideBlocks::stopping_at_hash_blocks))
    return config.hash_block_size < config.scheduler_block_size;
  return hits_end_inside_blocks(config);
}

}  // namespace

bool hits_end_inside_blocks(const EngineConfig& config) {
  return config.enable_prefix_caching &&
         hits_end_inside_blocks(config.kv_cache_config.groups, config.hash_block_size,
                                config.policies);
}

std::int32_t num_hash_lookahead_tokens(const EngineConfig& config) {
  const bool wanted = config.policies.is(EagleProof::look_ahead_hashes) && use_eagle(config) &&
                      config.enable_prefix_caching && !config.disable_eagle_block_drop &&
                      !config.disable_lookahead_block_hashes && !config.kv_consumer;
  return wanted ? 1 : 0;
}

SchedulerConfig scheduler_config(const EngineConfig& config) {
  bool has_mamba = false;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    has_mamba = has_mamba || group.is_mamba();
  return {.max_num_seqs = config.max_num_seqs,
          .max_model_len = config.max_model_len,
          .long_prefill_token_threshold = config.long_prefill_token_threshold,
          .enable_chunked_prefill = config.enable_chunked_prefill,
          .scheduler_reserve_full_isl = config.scheduler_reserve_full_isl,
          .policy = config.scheduling_policy,
          .num_speculative_tokens = config.num_speculative_tokens,
          .num_lookahead_tokens = num_lookahead_tokens(config),
          // A draft model reads one token more than it drafts.
          .num_draft_slots = config.speculative_method == SpeculativeMethod::draft_model ? 1 : 0,
          .block_aligned_split = has_mamba && config.mamba_cache_mode == MambaCacheMode::align,
          .has_mamba_groups = has_mamba,
          .aligned_split = aligned_split_settings(config),
          .runner_v2 = config.runner == ModelRunner::v2,
          .async_scheduling = config.async_scheduling,
          .defer_frees = config.async_scheduling && config.kv_consumer};
}

AlignedSplitSettings aligned_split_settings(const EngineConfig& config) {
  const std::int32_t threshold = config.long_prefill_token_threshold;
  return {.block_size = config.block_size,
          .hash_block_size = config.hash_block_size,
          .scheduler_block_size = config.scheduler_block_size,
          .fine_grained_hits = stops_inside_blocks(config),
          .use_eagle = use_eagle(config),
          .eagle_block_drop = eagle_block_drop(config),
          .num_hash_lookahead_tokens = num_hash_lookahead_tokens(config),
          .has_prefill_checkpoint_blocks = all_mamba_groups_checkpoint(config),
          .prefill_checkpoint_alignment = checkpoint_alignment(config),
          .shared_prefix_checkpoint = registers_junctions(config),
          .checkpoint_start = config.policies.get<CheckpointStart>(),
          .max_tokens_a_step = threshold > 0 ? std::min(config.max_num_batched_tokens, threshold)
                                             : config.max_num_batched_tokens};
}

KVCacheManagerConfig kv_cache_manager_config(const EngineConfig& config) {
  return {.kv_cache_config = config.kv_cache_config,
          .max_model_len = config.max_model_len,
          .enable_caching = config.enable_prefix_caching,
          .use_eagle = eagle_block_drop(config),
          .num_hash_lookahead_tokens = num_hash_lookahead_tokens(config),
          .mamba_shared_prefix_checkpoint = registers_junctions(config),
          .scheduler_block_size = config.scheduler_block_size,
          .hash_block_size = config.hash_block_size,
          .watermark = config.watermark,
          .retention_interval = config.prefix_cache_retention_interval,
          .policies = config.policies};
}

AttentionCGSupport min_cg_support(const EngineConfig& config) {
  AttentionCGSupport support = AttentionCGSupport::always;
  for (const KVCacheGroup& group : config.kv_cache_config.groups)
    support = std::min(
        support, group.is_mamba()
                     ? metadata_builder_row(std::get<MambaSpec>(group.spec).mamba_type).cg_support
                     : cg_support(config.attention_backend));
  return support;
}

namespace {

SpecRounding spec_rounding(const EngineConfig& config) {
  if (config.runner == ModelRunner::v1) return SpecRounding::with_full_graphs;
  return config.policies.is(DecodeGraphs::rounded_list) ? SpecRounding::always
                                                        : SpecRounding::never;
}

}  // namespace

Result<CudagraphResolution> resolve_cudagraphs(const EngineConfig& config) {
  CaptureSizesInput sizes_input{.max_num_seqs = config.max_num_seqs,
                                .num_spec = config.num_speculative_tokens,
                                .max_num_batched_tokens = config.max_num_batched_tokens,
                                .max_cudagraph_capture_size = config.max_cudagraph_capture_size,
                                .cudagraph_capture_sizes = {},
                                .list = config.policies.get<CaptureList>()};
  if (!config.cudagraph_capture_sizes.empty())
    sizes_input.cudagraph_capture_sizes = config.cudagraph_capture_sizes;
  auto sizes = make_cudagraph_capture_sizes(sizes_input);
  if (!sizes.ok()) return sizes.error();
  auto resolved =
      resolve_cudagraph_mode_and_sizes({.cudagraph_mode = config.cudagraph_mode,
                                        .min_cg_support = min_cg_support(config),
                                        .attention_is_splitting_op = config.compiled_piecewise,
                                        .num_spec = config.num_speculative_tokens,
                                        .spec_rounding = spec_rounding(config),
                                        .capture_sizes = sizes.value().sizes,
                                        .has_mamba_layers = std::ranges::any_of(
                                            config.kv_cache_config.groups, &KVCacheGroup::is_mamba),
                                        .max_num_seqs = config.max_num_seqs,
                                        .num_blocks = config.kv_cache_config.num_blocks});
  if (!resolved.ok()) return resolved.error();
  std::vector<CudagraphCorrection>& corrections = resolved.value().corrections;
  if (resolved.value().cudagraph_mode != CUDAGraphMode::none)
    corrections.insert(corrections.begin(), sizes.value().corrections.begin(),
                       sizes.value().corrections.end());
  return resolved;
}

CudagraphDispatchConfig captured_graphs(const EngineConfig& config,
                                        const CudagraphResolution& cudagraphs) {
  return {.cudagraph_mode = cudagraphs.cudagraph_mode,
          .capture_sizes = cudagraphs.capture_sizes,
          .max_num_seqs = config.max_num_seqs,
          .num_spec = config.num_speculative_tokens,
          .decode_graphs = config.runner == ModelRunner::v1 ? DecodeGraphs::rounded_list
                                                            : config.policies.get<DecodeGraphs>()};
}

}  // namespace hybridscope
