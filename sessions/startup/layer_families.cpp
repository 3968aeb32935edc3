#include "sessions/startup/layer_families.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace hybridscope {
namespace {

std::vector<bool> every_nth(std::int64_t num_layers, std::int64_t n) {
  std::vector<bool> attends;
  for (std::int64_t i = 0; i < num_layers; ++i) attends.push_back(i % n == n - 1);
  return attends;
}

}  // namespace

std::int64_t num_layers(const HfConfigReader& reader) {
  const std::int64_t layers = reader.count("num_hidden_layers");
  if (layers > kMostLayers)
    reader.fail_key("num_hidden_layers", fmt::format("at most {}", kMostLayers));
  return layers;
}

std::vector<bool> attending_layers(const HfConfigReader& reader, std::string_view recurrent,
                                   std::string_view attention) {
  const std::int64_t layers = num_layers(reader);
  if (!reader.has("layer_types"))
    return every_nth(layers, reader.count_or("full_attention_interval", 4));
  std::vector<bool> attends;
  for (const std::string& type : reader.texts("layer_types")) {
    const bool is_attention = type == attention || type == "full_attention";
    if (!is_attention && type != recurrent && type != "linear_attention")
      reader.fail(fmt::format("key \"layer_types\": layer {} is \"{}\", expected \"{}\" or \"{}\"",
                              attends.size(), type, attention, recurrent));
    attends.push_back(is_attention);
  }
  if (std::ssize(attends) != layers)
    reader.fail(fmt::format("key \"layer_types\" has {} layers, but \"num_hidden_layers\" is {}",
                            attends.size(), layers));
  return attends;
}

std::vector<bool> listed_layers(const HfConfigReader& reader, std::string_view key,
                                std::int64_t layers, std::int64_t first) {
  std::vector<bool> listed(static_cast<std::size_t>(layers));
  for (const std::int64_t number : reader.numbers(key)) {
    if (number < first || number >= first + layers)
      reader.fail(fmt::format("key \"{}\" has layer {}, expected {} to {}", key, number, first,
                              first + layers - 1));
    listed[static_cast<std::size_t>(number - first)] = true;
  }
  return listed;
}

namespace {

std::int64_t head_size(const HfConfigReader& reader) {
  if (reader.has("head_dim")) return reader.count("head_dim");
  const std::int64_t width = reader.count("hidden_size");
  const std::int64_t heads = reader.count("num_attention_heads");
  if (width % heads != 0)
    reader.fail(fmt::format(
        "key \"hidden_size\" {} is not a multiple of \"num_attention_heads\" {}", width, heads));
  return width / heads;
}

}  // namespace

AttentionCache full_attention(const HfConfigReader& reader) {
  const std::int64_t size = head_size(reader);
  return {
      .num_kv_heads = reader.count("num_key_value_heads"), .head_size = size, .head_size_v = size};
}

AttentionCache mla(const HfConfigReader& reader) {
  const std::int64_t rope = reader.whole_or("qk_rope_head_dim", 0);
  return {.kind = AttentionKind::mla,
          .head_size = reader.count("kv_lora_rank") + rope,
          .qk_rope_head_dim = rope};
}

// One cache a layer, in the order of the layers.
void add_layers(StartupModel& model, const std::vector<bool>& attends,
                const AttentionCache& attention, const StateCache& state) {
  for (std::size_t i = 0; i < attends.size(); ++i)
    model.layers.push_back(
        {attends[i] ? LayerCache(attention) : LayerCache(state), std::to_string(i)});
}

GatedDeltaNetDims gated_delta_net(const HfConfigReader& reader) {
  return {.num_k_heads = reader.count("linear_num_key_heads"),
          .num_v_heads = reader.count("linear_num_value_heads"),
          .head_k_dim = reader.count("linear_key_head_dim"),
          .head_v_dim = reader.count("linear_value_head_dim"),
          .conv_kernel_size = reader.count("linear_conv_kernel_dim")};
}

std::string ssm_dtype_of(const HfConfigReader& reader, const char* key, const char* absent) {
  if (!reader.has(key)) return absent;
  const std::string name = reader.text(key);
  if (name != "auto" && !parse_dtype(name).ok())
    reader.fail_key(key, "auto, float16, bfloat16 or float32");
  return name;
}

Mamba2Dims prefixed_mamba2(const HfConfigReader& reader, std::int64_t intermediate_size) {
  Mamba2Dims dims{.intermediate_size = intermediate_size,
                  .n_groups = reader.count("mamba_n_groups"),
                  .num_heads = reader.count("mamba_n_heads"),
                  .state_size = reader.count("mamba_d_state"),
                  .conv_kernel = reader.count("mamba_d_conv")};
  dims.head_dim = reader.is_text("mamba_d_head", "auto") ? intermediate_size / dims.num_heads
                                                         : reader.count("mamba_d_head");
  return dims;
}

}  // namespace hybridscope
