#include "sessions/scenario/hf_config.h"

#include <algorithm>

#include "core/model/state_shape.h"
#include "sessions/startup/layer_families.h"

namespace hybridscope {
namespace {

constexpr std::int64_t kMaxLayers = 100000;
// Mamba files have no length and the architecture does not limit it; same value as in the presets.
// (vLLM assumes 2,048, less than a block of mode all.)
constexpr std::int64_t kLengthWhenAbsent = 262144;
// Chunk size of the FLA kernels (GDN, KDA); not in the file.
constexpr std::int64_t kFlaChunkSize = 64;

std::size_t num_hidden_layers(const HfConfigReader& reader) {
  const std::int64_t layers = reader.count("num_hidden_layers");
  if (layers > kMaxLayers) reader.fail_key("num_hidden_layers", "at most 100000");
  return static_cast<std::size_t>(layers);
}

void expect_layers(const HfConfigReader& reader, const std::string& key,
                   const std::vector<LayerKind>& layers, std::size_t num_layers) {
  if (layers.size() != num_layers)
    reader.fail("key \"" + key + "\" has " + std::to_string(layers.size()) +
                " layers, but \"num_hidden_layers\" is " + std::to_string(num_layers));
}

struct LayerNumbers {
  const char* key;
  LayerKind kind = LayerKind::attention;
  std::int64_t first = 0;  // number of the first layer: 0 or 1
};

// Sets the kind of the layers whose numbers are in the list at `numbers.key`.
void mark_layers(const HfConfigReader& reader, const LayerNumbers& numbers,
                 std::vector<LayerKind>& layers) {
  const auto last = static_cast<std::int64_t>(layers.size()) - 1 + numbers.first;
  for (const std::int64_t number : reader.numbers(numbers.key)) {
    if (number < numbers.first || number > last)
      reader.fail("key \"" + std::string(numbers.key) + "\" has layer " + std::to_string(number) +
                  ", expected " + std::to_string(numbers.first) + " to " + std::to_string(last));
    layers[static_cast<std::size_t>(number - numbers.first)] = numbers.kind;
  }
}

struct LayerTypeNames {
  std::string attention;
  std::string recurrent;
};

std::vector<LayerKind> layers_from_types(const HfConfigReader& reader,
                                         const LayerTypeNames& names) {
  const std::size_t num_layers = num_hidden_layers(reader);
  std::vector<LayerKind> layers;
  for (const std::string& name : reader.texts("layer_types")) {
    if (name != names.attention && name != names.recurrent)
      reader.fail("key \"layer_types\": layer " + std::to_string(layers.size()) + " is \"" + name +
                  "\", expected \"" + names.attention + "\" or \"" + names.recurrent + "\"");
    layers.push_back(name == names.attention ? LayerKind::attention : LayerKind::recurrent);
  }
  expect_layers(reader, "layer_types", layers, num_layers);
  return layers;
}

struct Quotient {
  const char* numerator;
  const char* denominator;
};

std::int64_t exact_quotient(const HfConfigReader& reader, const Quotient& keys) {
  const std::int64_t numerator = reader.count(keys.numerator);
  const std::int64_t denominator = reader.count(keys.denominator);
  if (numerator % denominator != 0)
    reader.fail("key \"" + std::string(keys.numerator) + "\" " + std::to_string(numerator) +
                " is not a multiple of \"" + keys.denominator + "\" " +
                std::to_string(denominator));
  return numerator / denominator;
}

// Reads num_key_value_heads, and head_dim or hidden_size / num_attention_heads.
AttentionDims read_attention(const HfConfigReader& reader) {
  AttentionDims dims{.num_kv_heads = reader.count("num_key_value_heads")};
  dims.head_size = reader.has("head_dim")
                       ? reader.count("head_dim")
                       : exact_quotient(reader, {"hidden_size", "num_attention_heads"});
  return dims;
}

std::int64_t mamba_channels(const HfConfigReader& reader) {
  return reader.has("intermediate_size") ? reader.count("intermediate_size")
                                         : reader.count("expand") * reader.count("hidden_size");
}

void read_mamba(const HfConfigReader& reader, ModelSpec& model) {
  model.layers.assign(num_hidden_layers(reader), LayerKind::recurrent);
  model.recurrent = Mamba1Dims{.intermediate_size = mamba_channels(reader),
                               .state_size = reader.count("state_size"),
                               .conv_kernel = reader.count("conv_kernel")};
  model.max_model_len = reader.count_or("max_position_embeddings", kLengthWhenAbsent);
  model.mamba_all_mode = MambaAllMode::supported;
}

void read_mamba2(const HfConfigReader& reader, ModelSpec& model) {
  model.layers.assign(num_hidden_layers(reader), LayerKind::recurrent);
  model.recurrent = Mamba2Dims{.intermediate_size = mamba_channels(reader),
                               .n_groups = reader.count("n_groups"),
                               .num_heads = reader.count("num_heads"),
                               .head_dim = reader.count("head_dim"),
                               .state_size = reader.count("state_size"),
                               .conv_kernel = reader.count("conv_kernel")};
  model.chunk_size = reader.count("chunk_size");
  model.max_model_len = reader.count_or("max_position_embeddings", kLengthWhenAbsent);
  model.mamba_all_mode = MambaAllMode::supported;
  model.spec_in_state_shape = SpecInStateShape::passed;
}

// vLLM's classes of some models take the dtype of recurrent states from the file (models/config.py,
// Qwen3_5ForConditionalGenerationConfig and NemotronHForCausalLMConfig).
std::string ssm_dtype_or(const HfConfigReader& reader, const char* key, const char* absent) {
  if (!reader.has(key)) return absent;
  const std::string name = reader.text(key);
  const auto dtype = parse_dtype(name);
  if (name == "auto") return name;
  if (dtype) return std::string(dtype_name(dtype.value()));
  reader.fail_key(key, "auto, float16, bfloat16 or float32");
}

// The mamba_* keys that Bamba and Granite share.
void read_prefixed_mamba2(const HfConfigReader& reader, ModelSpec& model) {
  model.recurrent =
      prefixed_mamba2(reader, reader.count("mamba_expand") * reader.count("hidden_size"));
  model.attention = read_attention(reader);
  model.chunk_size = reader.count("mamba_chunk_size");
  model.max_model_len = reader.count("max_position_embeddings");
  model.mamba_all_mode = MambaAllMode::supported;
}

void read_bamba(const HfConfigReader& reader, ModelSpec& model) {
  model.layers.assign(num_hidden_layers(reader), LayerKind::recurrent);
  mark_layers(reader, {.key = "attn_layer_indices"}, model.layers);
  read_prefixed_mamba2(reader, model);
}

void read_granite(const HfConfigReader& reader, ModelSpec& model) {
  model.layers = layers_from_types(reader, {.attention = "attention", .recurrent = "mamba"});
  read_prefixed_mamba2(reader, model);
}

void read_nemotron_h(const HfConfigReader& reader, ModelSpec& model) {
  const std::size_t num_layers = num_hidden_layers(reader);
  const std::string pattern = reader.text("hybrid_override_pattern");
  auto layers = layers_from_pattern(pattern);
  if (!layers) {
    reader.fail("key \"hybrid_override_pattern\": " + layers.error().message);
  } else {
    model.layers = std::move(layers).value();
    expect_layers(reader, "hybrid_override_pattern", model.layers, num_layers);
  }
  model.recurrent = nemotron_h_mamba2(reader);
  model.attention = {.num_kv_heads = reader.count("num_key_value_heads"),
                     .head_size = reader.count_of_any({"head_dim", "attention_head_dim"})};
  model.chunk_size = reader.count("chunk_size");
  model.max_model_len = reader.count("max_position_embeddings");
  model.mamba_all_mode = MambaAllMode::supported;
  model.spec_in_state_shape = SpecInStateShape::passed;
  model.mamba_ssm_dtype = ssm_dtype_or(reader, "mamba_ssm_cache_dtype", "float32");
}

// `interval`: of attention layers, where the file has no layer_types.
void read_gated_delta_net(const HfConfigReader& reader, std::int64_t interval, ModelSpec& model) {
  if (reader.has("layer_types")) {
    model.layers =
        layers_from_types(reader, {.attention = "full_attention", .recurrent = "linear_attention"});
  } else {
    model.layers.assign(num_hidden_layers(reader), LayerKind::recurrent);
    const auto every = static_cast<std::size_t>(interval);
    for (std::size_t i = every; i <= model.layers.size(); i += every)
      model.layers[i - 1] = LayerKind::attention;
  }
  model.recurrent = gated_delta_net(reader);
  model.attention = read_attention(reader);
  model.chunk_size = kFlaChunkSize;
  model.max_model_len = reader.count("max_position_embeddings");
  model.spec_in_state_shape = SpecInStateShape::passed;
}

void read_qwen3_next(const HfConfigReader& reader, ModelSpec& model) {
  const bool listed = reader.has("layer_types");
  read_gated_delta_net(reader, listed ? 1 : reader.count("full_attention_interval"), model);
}

void read_qwen3_5_text(const HfConfigReader& reader, ModelSpec& model) {
  read_gated_delta_net(reader, reader.count_or("full_attention_interval", 4), model);
  model.mamba_ssm_dtype = ssm_dtype_or(reader, "mamba_ssm_dtype", "auto");
}

// With images: the language model is under text_config.
void read_qwen3_5(const HfConfigReader& reader, ModelSpec& model) {
  read_qwen3_5_text(reader.object("text_config"), model);
}

// linear_attn_config numbers layers from 1.
void read_kimi_linear(const HfConfigReader& reader, ModelSpec& model) {
  const HfConfigReader kda = reader.object("linear_attn_config");
  model.layers.assign(num_hidden_layers(reader), LayerKind::stateless);
  mark_layers(kda, {.key = "kda_layers", .kind = LayerKind::recurrent, .first = 1}, model.layers);
  mark_layers(kda, {.key = "full_attn_layers", .first = 1}, model.layers);
  model.recurrent = KdaDims{.num_heads = kda.count("num_heads"),
                            .head_dim = kda.count("head_dim"),
                            .conv_kernel_size = kda.count("short_conv_kernel_size")};
  const auto missing = std::find(model.layers.begin(), model.layers.end(), LayerKind::stateless);
  if (missing != model.layers.end())
    reader.fail("linear_attn_config: layer " + std::to_string(missing - model.layers.begin() + 1) +
                " is in neither \"kda_layers\" nor \"full_attn_layers\"");
  model.attention = {.attention_type = AttentionType::mla,
                     .kv_lora_rank = reader.count("kv_lora_rank"),
                     .qk_rope_head_dim = reader.count("qk_rope_head_dim")};
  model.chunk_size = kFlaChunkSize;
  model.max_model_len = reader.count_of_any({"model_max_length", "max_position_embeddings"});
  model.spec_in_state_shape = SpecInStateShape::passed;
}

void read_lfm2(const HfConfigReader& reader, ModelSpec& model) {
  if (reader.has("layer_types")) {
    model.layers = layers_from_types(reader, {.attention = "full_attention", .recurrent = "conv"});
  } else {
    model.layers.assign(num_hidden_layers(reader), LayerKind::recurrent);
    mark_layers(reader, {.key = "full_attn_idxs"}, model.layers);
  }
  model.recurrent = ShortConvDims{.intermediate_size = reader.count("hidden_size"),
                                  .conv_kernel = reader.count("conv_L_cache")};
  model.attention = read_attention(reader);
  model.max_model_len = reader.count("max_position_embeddings");
}

// attn_type_list: 0 linear, 1 full attention.
void read_minimax_text_01(const HfConfigReader& reader, ModelSpec& model) {
  const std::size_t num_layers = num_hidden_layers(reader);
  for (const std::int64_t type : reader.numbers("attn_type_list")) {
    if (type > 1)
      reader.fail("key \"attn_type_list\": layer " + std::to_string(model.layers.size()) + " is " +
                  std::to_string(type) + ", expected 0 (linear) or 1 (full attention)");
    model.layers.push_back(type == 1 ? LayerKind::attention : LayerKind::recurrent);
  }
  expect_layers(reader, "attn_type_list", model.layers, num_layers);
  model.attention = read_attention(reader);
  model.recurrent = LinearAttentionDims{.num_heads = reader.count("num_attention_heads"),
                                        .head_dim = model.attention.head_size};
  model.chunk_size = reader.count_or("block_size", 256);
  model.max_model_len = reader.count("max_position_embeddings");
}

constexpr HfFamily kFamilies[] = {
    {"MambaForCausalLM", "mamba", read_mamba},
    {"Mamba2ForCausalLM", "mamba2", read_mamba2},
    {"BambaForCausalLM", "bamba", read_bamba},
    {"NemotronHForCausalLM", "nemotron_h", read_nemotron_h},
    {"GraniteMoeHybridForCausalLM", "granitemoehybrid", read_granite},
    {"Qwen3NextForCausalLM", "qwen3_next", read_qwen3_next},
    {"Qwen3_5ForCausalLM", "qwen3_5_text", read_qwen3_5_text},
    {"Qwen3_5ForConditionalGeneration", "qwen3_5", read_qwen3_5},
    {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", read_qwen3_5_text},
    {"Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", read_qwen3_5},
    {"KimiLinearForCausalLM", "kimi_linear", read_kimi_linear},
    {"Lfm2ForCausalLM", "lfm2", read_lfm2},
    {"MiniMaxText01ForCausalLM", "minimax_text_01", read_minimax_text_01},
};

}  // namespace

std::span<const HfFamily> hf_families() { return kFamilies; }

}  // namespace hybridscope
