#include "core/engine/cudagraph_setup.h"

#include <algorithm>
#include <utility>

#include "core/metadata/capture_sizes_policies.h"
#include "core/metadata/graph_padding_policies.h"
#include "core/metadata/metadata_builders.h"

namespace hybridscope {

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
