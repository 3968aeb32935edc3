#include "tests/sessions/plan/published_models.h"

#include <nlohmann/json.hpp>

#include "core/model/model_presets.h"
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

ModelSpec glm53_flash(const Glm53Flash& cache) {
  ModelSpec model = model_preset("kimi-linear-48b-a3b").value();
  model.name = "glm-5.3-flash";
  model.layers.clear();
  for (int layer = 0; layer < 45; ++layer)
    model.layers.push_back(layer % 4 == 3 ? LayerKind::attention : LayerKind::recurrent);
  model.attention = {.attention_type = AttentionType::mla, .kv_lora_rank = cache.latent_values};
  model.recurrent = KdaDims{.num_heads = 64, .head_dim = 128};
  model.kernel_block_alignment = 128;  // of MLA from 0.27.1 on
  return model;
}

}  // namespace hybridscope::test
