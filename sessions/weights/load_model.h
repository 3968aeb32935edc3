// Makes a model that runs out of a folder in Hugging Face layout: config.json (weights_config.cpp)
// and safetensors (numerics: architectures and weights).
#pragma once

#include <cstdint>
#include <string>

#include "core/base/result.h"
#include "core/model/model_spec.h"
#include "core/numeric/hybrid_model.h"

namespace hybridscope {

struct LoadedModel {
  ModelSpec spec;  // what an engine needs to know of it
  HybridModel model;
};

// Reads all weights as float32. `most_bytes`: that they may take in memory; 0: what the machine can
// give. Errors, before anything runs, with file and tensor: those of load_weights_config and
// Safetensors; a tensor that is missing, of another shape, that the architecture does not have, of
// another dtype than F32, BF16 and F16, or with values that are not finite; weights larger than
// the memory, with the sizes.
Result<LoadedModel> load_model(const std::string& folder, std::int64_t most_bytes = 0);

// Where the language model lies that comes with the program: its weights are too large to be a part
// of it.

// Where the shipped model lies, from the project's root.
inline constexpr const char* kShippedModel = "scenarios/models/jargon-gdn";

// Its folder: in the working folder, else in that of the program, in share/hybridscope there, or in
// the same of a folder above, so that a program in the project's build folder finds it from
// anywhere. Error not_found: it is in none of them.
Result<std::string> find_shipped_model();

// What config.json says of a model whose weights can be run.

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
