#include "sessions/weights/load_model.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <variant>

#include "sessions/scenario/hf_config.h"
#include "sessions/startup/hf_reader.h"
#include "sessions/text/json_reader.h"

namespace hybridscope {
namespace {

constexpr std::string_view kArchitectures = "bamba, qwen3_5_text, qwen3_5, qwen3_next or lfm2";

std::int32_t count32(const HfConfigReader& reader, const char* key) {
  return static_cast<std::int32_t>(reader.count(key));
}

struct RopeDefaults {
  double theta = 10000;
  double partial_rotary_factor = 1;
};

// rope_theta stands in the object rope_parameters (in older files rope_scaling) or beside it.
void read_rope(const HfConfigReader& reader, const RopeDefaults& defaults, WeightsConfig& config) {
  double theta = reader.real_or("rope_theta", defaults.theta);
  double factor = reader.real_or("partial_rotary_factor", defaults.partial_rotary_factor);
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (!reader.has(key)) continue;
    const HfConfigReader rope = reader.object(key);
    for (const char* type : {"rope_type", "type"})
      if (rope.has(type) && !rope.is_text(type, "default"))
        rope.fail_key(type, "\"default\": no other positions are computed");
    theta = rope.real_or("rope_theta", theta);
    factor = rope.real_or("partial_rotary_factor", factor);
  }
  if (!(theta >= 1)) reader.fail_key("rope_theta", "a number from 1");
  if (!(factor >= 0 && factor <= 1))
    reader.fail_key("partial_rotary_factor", "a number from 0 to 1");
  // Bamba turns half of a head whatever its file says.
  if (config.architecture == WeightsArchitecture::bamba) factor = 0.5;
  config.rope_theta = theta;
  config.rotary_dim =
      static_cast<std::int32_t>(static_cast<double>(config.model.attention.head_size) * factor);
  if (config.rotary_dim % 2 != 0)
    reader.fail("the rotary dimension, " + std::to_string(config.rotary_dim) + ", is odd");
}

void read_bamba(const HfConfigReader& reader, WeightsConfig& config) {
  config.norm_eps = static_cast<float>(reader.real_or("rms_norm_eps", 1e-5));
  config.attention_bias = reader.flag_or("attention_bias", false);
  config.mlp_bias = reader.flag_or("mlp_bias", false);
  config.conv_bias = reader.flag_or("mamba_conv_bias", true);
  config.proj_bias = reader.flag_or("mamba_proj_bias", false);
  config.tie_word_embeddings = reader.flag_or("tie_word_embeddings", false);
  const std::vector<double> limit = reader.reals_or("time_step_limit", {});
  if (limit.size() == 2) {
    config.has_dt_limit = true;
    config.dt_min = static_cast<float>(limit[0]);
    config.dt_max = static_cast<float>(limit[1]);
    if (!(limit[0] <= limit[1])) reader.fail_key("time_step_limit", "the smaller number first");
  } else if (!limit.empty()) {
    reader.fail_key("time_step_limit", "two numbers");
  }
  read_rope(reader, {}, config);
}

void read_qwen3(const HfConfigReader& reader, WeightsConfig& config) {
  config.norm_eps = static_cast<float>(reader.real_or("rms_norm_eps", 1e-6));
  config.attention_bias = reader.flag_or("attention_bias", false);
  config.tie_word_embeddings = reader.flag_or("tie_word_embeddings", false);
  if (reader.has("num_experts") && !reader.is_number("num_experts", 0) &&
      reader.numbers_or("mlp_only_layers", {}).size() != config.model.layers.size())
    reader.fail_key("num_experts", "0: experts are not computed");
  read_rope(reader, {.partial_rotary_factor = 0.25}, config);
}

// Lfm2MLP: the size that the file gives is cut to two thirds and rounded up.
std::int64_t lfm2_feed_forward(const HfConfigReader& reader) {
  auto size = reader.count_of_any({"block_ff_dim", "intermediate_size"});
  if (!reader.flag_or("block_auto_adjust_ff_dim", true)) return size;
  size = 2 * size / 3;
  if (reader.has("block_ffn_dim_multiplier"))
    size = static_cast<std::int64_t>(reader.real_or("block_ffn_dim_multiplier", 1) *
                                     static_cast<double>(size));
  const std::int64_t multiple = reader.count_or("block_multiple_of", 256);
  return (size + multiple - 1) / multiple * multiple;
}

void read_lfm2(const HfConfigReader& reader, WeightsConfig& config) {
  config.norm_eps = static_cast<float>(reader.real_or("norm_eps", 1e-5));
  config.conv_bias = reader.flag_or("conv_bias", false);
  config.intermediate_size = static_cast<std::int32_t>(lfm2_feed_forward(reader));
  config.tie_word_embeddings =
      reader.flag_or("tie_word_embeddings", reader.flag_or("tie_embedding", true));
  read_rope(reader, {.theta = 1e6}, config);
}

// The most elements that one layer's state or projection may have: larger ones are no model that
// runs here, and sizes below it cannot overflow.
constexpr double kMostElements = 1 << 28;

void check_sizes(const HfConfigReader& reader, const WeightsConfig& config) {
  const double hidden = config.hidden_size;
  double state = 0;
  double width = 0;  // of the widest projection
  if (const auto* mamba2 = std::get_if<Mamba2Dims>(&config.model.recurrent)) {
    const double inner =
        static_cast<double>(mamba2->num_heads) * static_cast<double>(mamba2->head_dim);
    const double groups =
        static_cast<double>(mamba2->n_groups) * static_cast<double>(mamba2->state_size);
    state = inner * static_cast<double>(mamba2->state_size);
    width = 2 * inner + 2 * groups;
  } else if (const auto* delta = std::get_if<GatedDeltaNetDims>(&config.model.recurrent)) {
    const double values =
        static_cast<double>(delta->num_v_heads) * static_cast<double>(delta->head_v_dim);
    state = values * static_cast<double>(delta->head_k_dim);
    width = 2 * static_cast<double>(delta->num_k_heads) * static_cast<double>(delta->head_k_dim) +
            2 * values;
  } else {
    width = 3 * hidden;
  }
  const double heads =
      2.0 * config.num_attention_heads * static_cast<double>(config.model.attention.head_size);
  const double widest =
      std::max({width, heads, 1.0 * config.intermediate_size, 1.0 * config.vocab_size});
  if (state > kMostElements || widest * hidden > kMostElements || widest > kMostElements)
    reader.fail("a layer of more than 268,435,456 elements");
}

struct ArchitectureRow {
  const char* model_type;
  WeightsArchitecture architecture;
  void (*read)(const HfConfigReader& reader, WeightsConfig& config);
};
constexpr ArchitectureRow kRows[] = {
    {"bamba", WeightsArchitecture::bamba, read_bamba},
    {"qwen3_5_text", WeightsArchitecture::qwen3_5_text, read_qwen3},
    {"qwen3_next", WeightsArchitecture::qwen3_next, read_qwen3},
    {"lfm2", WeightsArchitecture::lfm2, read_lfm2},
};

// `reader`: of the language model's own object.
WeightsConfig read_config(const HfConfigReader& reader, WeightsConfig config) {
  const auto row = std::ranges::find_if(kRows, [&](const ArchitectureRow& known) {
    return reader.is_text("model_type", known.model_type);
  });
  if (row == std::end(kRows)) reader.fail_key("model_type", kArchitectures);
  config.architecture = row->architecture;
  config.vocab_size = count32(reader, "vocab_size");
  config.hidden_size = count32(reader, "hidden_size");
  config.num_attention_heads = count32(reader, "num_attention_heads");
  if (row->architecture != WeightsArchitecture::lfm2)
    config.intermediate_size = count32(reader, "intermediate_size");
  if (reader.has("hidden_act") && !reader.is_text("hidden_act", "silu"))
    reader.fail_key("hidden_act", "\"silu\"");
  row->read(reader, config);
  if (!(config.norm_eps >= 0)) reader.fail("the eps of its norms is negative");
  const auto kv_heads = config.model.attention.num_kv_heads;
  if (kv_heads > 0 && config.num_attention_heads % kv_heads != 0)
    reader.fail_key("num_attention_heads",
                    "a multiple of num_key_value_heads, " + std::to_string(kv_heads));
  check_sizes(reader, config);
  return config;
}

}  // namespace

Result<WeightsConfig> load_weights_config(const std::string& folder) {
  const std::string file = (std::filesystem::path(folder) / "config.json").string();
  const auto text = read_text_file(file);
  if (!text) return text.error();
  const auto json = parse_json({.text = text.value(), .file = file});
  if (!json) return json.error();
  return read_json(file, [&]() -> Result<WeightsConfig> {
    const HfConfigReader reader{JsonValue(json.value())};
    if (!reader.has("model_type"))
      reader.fail("key \"model_type\" is missing, expected " + std::string(kArchitectures));
    auto model = parse_hf_config({.text = text.value(), .file = file});
    if (!model) return model.error();
    if (!model.value().not_run_because.empty()) reader.fail(model.value().not_run_because);
    WeightsConfig config{.tensor_prefix = "model.", .model = std::move(model).value()};
    if (!reader.is_text("model_type", "qwen3_5")) return read_config(reader, std::move(config));
    config.tensor_prefix = "model.language_model.";
    return read_config(reader.object("text_config"), std::move(config));
  });
}

}  // namespace hybridscope
