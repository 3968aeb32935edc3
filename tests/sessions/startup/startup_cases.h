// Models and settings that the tests of starts share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sessions/startup/architectures.h"
#include "sessions/startup/startup_plan.h"

namespace hybridscope::test {

// Qwen3.5-27B, 3.6-27B and 3.8-27B: 48 GatedDeltaNet layers, 16 attention layers, one MTP layer.
inline constexpr std::string_view kQwen27B = R"({
  "architectures": ["Qwen3_5ForConditionalGeneration"], "model_type": "qwen3_5",
  "text_config": {
    "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 24,
    "num_key_value_heads": 4, "head_dim": 256, "full_attention_interval": 4,
    "linear_num_key_heads": 16, "linear_num_value_heads": 48, "linear_key_head_dim": 128,
    "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "mtp_num_hidden_layers": 1,
    "mamba_ssm_dtype": "float32", "max_position_embeddings": 262144, "dtype": "bfloat16"}})";

inline StartupSettings settings_of(Release release, const char* gpu) {
  StartupSettings settings;
  settings.release = release;
  settings.gpu = find_gpu(gpu);
  return settings;
}

inline StartupPlan plan_of(std::string_view config, const StartupSettings& settings) {
  return plan_startup(read_startup_model({config, "config.json"}, {}, settings).value(), settings);
}

}  // namespace hybridscope::test
