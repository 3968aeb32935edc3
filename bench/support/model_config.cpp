#include "bench/support/model_config.h"

#include "sessions/scenario/engine_setup.h"

namespace hybridscope::bench {

EngineConfig model_config(const char* preset, std::int32_t num_speculative_tokens) {
  EngineSettings settings;
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.num_gpu_blocks_override = 32768;
  settings.num_speculative_tokens = num_speculative_tokens;
  return make_engine_setup(preset, settings).value().config;
}

}  // namespace hybridscope::bench
