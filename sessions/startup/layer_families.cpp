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
namespace {

std::int64_t head_size(const HfConfigReader& reader) {
  return reader.has("head_dim") ? reader.count("head_dim")
                                : reader.count("hidden_size") / reader.count("num_attention_heads");
}

}  // namespace

AttentionCache full_attention(const HfConfigReader& reader) {
  const std::int64_t size = head_size(reader);
  return {
      .num_kv_heads = reader.count("num_key_value_heads"), .head_size = size, .head_size_v = size};
}

AttentionCache mla(const HfConfigReader& reader) {
  return {.kind = AttentionKind::mla,
          .head_size = reader.count("kv_lora_rank") + reader.whole_or("qk_rope_head_dim", 0)};
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

Mamba2Dims nemotron_h_mamba2(const HfConfigReader& reader) {
  Mamba2Dims dims{.n_groups = reader.count("n_groups"),
                  .num_heads = reader.count("mamba_num_heads"),
                  .head_dim = reader.count("mamba_head_dim"),
                  .state_size = reader.count("ssm_state_size"),
                  .conv_kernel = reader.count("conv_kernel")};
  dims.intermediate_size = dims.num_heads * dims.head_dim;
  return dims;
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
