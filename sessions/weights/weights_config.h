// What config.json says of a model whose weights can be run (numerics: architectures and weights).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"

namespace hybridscope {

enum class WeightsArchitecture : std::uint8_t { bamba, qwen3_5_text, qwen3_next, lfm2 };

struct WeightsConfig {
  WeightsArchitecture architecture = WeightsArchitecture::bamba;
  std::string tensor_prefix = {};  // "model.", or of a model with images "model.language_model."
  ModelSpec model = {};            // layers, and sizes of attention and recurrence
  std::int32_t vocab_size = 0;
  std::int32_t hidden_size = 0;
  std::int32_t intermediate_size = 0;  // of the feed-forward layers
  std::int32_t num_attention_heads = 0;
  float norm_eps = 0;
  bool tie_word_embeddings = false;
  double rope_theta = 0;
  std::int32_t rotary_dim = 0;  // of a head's elements
  bool attention_bias = false;
  bool mlp_bias = false;
  bool conv_bias = false;  // LFM2: of all projections of a short convolution too
  bool proj_bias = false;  // Bamba: of Mamba's projections
  bool has_dt_limit = false;
  float dt_min = 0;
  float dt_max = 0;
};

// Reads FOLDER/config.json. Errors, with file and key: those of load_hf_config; an architecture
// whose weights cannot be run; experts; another activation than silu; a rope type other than
// default; a missing key.
Result<WeightsConfig> load_weights_config(const std::string& folder);

}  // namespace hybridscope
