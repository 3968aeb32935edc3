#include "tests/sessions/plan/published_models.h"

#include <nlohmann/json.hpp>

#include "sessions/scenario/hf_config.h"

namespace hybridscope::test {

ModelSpec qwen35(const Qwen35& size) {
  const nlohmann::json text = {
      {"num_hidden_layers", size.layers},     {"full_attention_interval", 4},
      {"num_key_value_heads", size.kv_heads}, {"head_dim", 256},
      {"linear_num_key_heads", 16},           {"linear_num_value_heads", size.value_heads},
      {"linear_key_head_dim", 128},           {"linear_value_head_dim", 128},
      {"linear_conv_kernel_dim", 4},          {"mamba_ssm_dtype", "float32"},
      {"max_position_embeddings", 262144}};
  const nlohmann::json config = {{"architectures", {"Qwen3_5ForConditionalGeneration"}},
                                 {"text_config", text}};
  return parse_hf_config({.text = config.dump(), .file = "config.json"}).value();
}

}  // namespace hybridscope::test
