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

}  // namespace hybridscope
