#include "sessions/run/check_setup.h"

#include <utility>

#include "core/caching/mamba_manager_policies.h"
#include "core/engine/cudagraph_setup.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/scheduler_setup.h"

namespace hybridscope {

CheckConfig make_check_config(const EngineConfig& config) {
  CheckLimits limits{.max_num_seqs = config.max_num_seqs,
                     .max_model_len = config.max_model_len,
                     .chunk_size = config.chunk_size};
  if (auto cudagraphs = resolve_cudagraphs(config); cudagraphs.ok()) {
    limits.cudagraph_capture_sizes = captured_sizes(captured_graphs(config, cudagraphs.value()));
    if (limits.cudagraph_capture_sizes.empty())  // no graph is captured: none of these is
      limits.cudagraph_capture_sizes = std::move(cudagraphs).value().capture_sizes;
  }
  return {.kv_cache_config = config.kv_cache_config,
          .mamba_cache_mode = config.mamba_cache_mode,
          .conv_kernel = config.conv_kernel,
          .num_speculative_tokens = config.num_speculative_tokens,
          .conv_window_len = config.conv_window_len,
          .hash_block_size = config.hash_block_size,
          .hits_inside_blocks = hits_end_inside_blocks(config),
          .keys_inside_blocks = !config.policies.is(PromptTailKey::never),
          .takes_stopped_tokens_back = config.policies.is(StoppedTokens::taken_back),
          .limits = std::move(limits)};
}

}  // namespace hybridscope
