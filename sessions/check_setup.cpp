#include "sessions/check_setup.h"

namespace hybridscope {

CheckConfig make_check_config(const EngineConfig& config) {
  return {.kv_cache_config = config.kv_cache_config,
          .mamba_cache_mode = config.mamba_cache_mode,
          .conv_kernel = config.conv_kernel,
          .num_speculative_tokens = config.num_speculative_tokens,
          .hash_block_size = config.hash_block_size};
}

}  // namespace hybridscope
