// The models behind sizes that people published, with what their config.json says.
#pragma once

#include <cstdint>
#include <string>

#include "core/model/model_spec.h"

namespace hybridscope::test {

// Gated delta net with float32 states (mamba_ssm_dtype), head size 256, 16 key heads of 128, every
// fourth layer attention: Qwen3.5 and Qwen3.6.
struct Qwen35 {
  std::int64_t layers = 32;
  std::int64_t value_heads = 32;
  std::int64_t kv_heads = 4;
};
inline constexpr Qwen35 kQwen35_4B{.layers = 32, .value_heads = 32, .kv_heads = 4};
inline constexpr Qwen35 kQwen36_27B{.layers = 64, .value_heads = 48, .kv_heads = 4};
inline constexpr Qwen35 kQwen36_35B{.layers = 40, .value_heads = 32, .kv_heads = 2};

ModelSpec qwen35(const Qwen35& size);

// GLM-5.3-Flash, as transformers has it (Glm5NextTextConfig): 45 layers, every fourth of them MLA
// with latent vectors of 512 without rope, the others KDA with 64 heads of 128 and W = 4. Without
// its key indexer, whose pages are memory of their own.
struct Glm53Flash {
  // Of a token's latent vector. Where an engine packs them, or keeps scales with them: the bytes of
  // a token, with kv_cache_dtype fp8.
  std::int64_t latent_values = 512;
};
ModelSpec glm53_flash(const Glm53Flash& cache = {});

}  // namespace hybridscope::test
