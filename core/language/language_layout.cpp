#include "core/language/language_layout.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hybridscope {
namespace {

BlockElements block_elements(const LayerStateSize& size, std::int32_t block_size,
                             const ConvRoom& room) {
  const std::int64_t positions =
      size.conv_dim > 0 ? size.conv_width - 1 + room.num_drafts - room.missing : 0;
  return {.conv = positions * size.conv_dim,
          .temporal = size.temporal,
          .keys_or_values = std::int64_t{block_size} * size.keys_or_values};
}

}  // namespace

Result<std::vector<std::int32_t>> groups_of_layers(const HybridModel& model,
                                                   const KVCacheConfig& config) {
  std::vector<std::int32_t> own(model.layers.size(), -1);
  std::vector<std::int32_t> of_kind[2];  // groups: recurrent, attention
  std::size_t num_layers = 0;
  for (std::size_t g = 0; g < config.groups.size(); ++g) {
    const KVCacheGroup& group = config.groups[g];
    of_kind[group.is_mamba() ? 0 : 1].push_back(static_cast<std::int32_t>(g));
    num_layers += group.layers.size();
    for (const std::int32_t layer : group.layers)
      if (layer >= 0 && static_cast<std::size_t>(layer) < own.size() &&
          model.layers[static_cast<std::size_t>(layer)].is_attention() != group.is_mamba())
        own[static_cast<std::size_t>(layer)] = static_cast<std::int32_t>(g);
  }
  if (num_layers == own.size() && std::ranges::count(own, -1) == 0) return own;
  std::size_t next[2] = {0, 0};
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t kind = model.layers[i].is_attention() ? 1 : 0;
    if (of_kind[kind].empty())
      return invalid_input("layer " + std::to_string(i) + " of the weights is " +
                           (kind == 1 ? "attention" : "recurrent") +
                           ", but the run's model has no layer of that kind");
    own[i] = of_kind[kind][next[kind]++ % of_kind[kind].size()];
  }
  return own;
}

std::int64_t LanguageLayout::bytes_per_block() const {
  std::int64_t bytes = 0;
  for (const BlockElements& block : blocks) bytes += 4 * block.total();
  return bytes;
}

Result<LanguageLayout> make_language_layout(const HybridModel& model, const KVCacheConfig& config,
                                            const ConvRoom& room) {
  auto groups = groups_of_layers(model, config);
  if (!groups) return groups.error();
  LanguageLayout layout;
  layout.num_blocks = config.num_blocks;
  layout.group_of_layer = std::move(groups).value();
  for (std::size_t g = 0; g < config.groups.size(); ++g)
    if (config.groups[g].is_mamba()) layout.mamba_groups.push_back(static_cast<std::int32_t>(g));
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const KVCacheGroup& group = config.groups[static_cast<std::size_t>(layout.group_of_layer[i])];
    const LayerStateSize size = layer_state_size(model.layers[i]);
    layout.blocks.push_back(block_elements(size, group.block_size(), room));
    layout.conv_dim.push_back(size.conv_dim);
  }
  return layout;
}

}  // namespace hybridscope
