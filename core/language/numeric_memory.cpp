#include "core/language/numeric_memory.h"

#include <algorithm>
#include <cstdlib>
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

void NumericMemory::Release::operator()(float* data) const { std::free(data); }

Result<NumericMemory> NumericMemory::create(const HybridModel& model, const KVCacheConfig& config,
                                            const ConvRoom& room) {
  auto layout = make_language_layout(model, config, room);
  if (!layout) return layout.error();
  NumericMemory memory;
  memory.layout_ = std::move(layout).value();
  for (const BlockElements& elements : memory.layout_.blocks) {
    const bool shares = room.missing > 0 && elements.temporal > 0;
    Layer& layer = memory.layers_.emplace_back();
    for (const auto& [pool, count] :
         {std::pair(&layer.conv, elements.conv + (shares ? elements.temporal : 0)),
          std::pair(&layer.temporal, shares ? 0 : elements.temporal),
          std::pair(&layer.keys, elements.keys_or_values),
          std::pair(&layer.values, elements.keys_or_values)})
      if (Status done = memory.allocate(*pool, count); !done) return done.error();
    if (shares) share_pages(layer.conv, layer.temporal, elements.conv);
    memory.views_.push_back(
        {.conv = memory.view_of(layer.conv, layer.conv.stride),  // rows write past the window
         .temporal = memory.view_of(layer.temporal, layer.temporal.elements),
         .kv = {memory.view_of(layer.keys, layer.keys.elements).data,
                memory.view_of(layer.values, layer.values.elements).data}});
  }
  return memory;
}

Status NumericMemory::allocate(Pool& pool, std::int64_t elements) {
  pool.elements = pool.stride = elements;
  if (elements == 0) return Ok{};
  const auto count =
      static_cast<std::size_t>(elements) * static_cast<std::size_t>(layout_.num_blocks);
  pool.owned.reset(static_cast<float*>(std::calloc(count, sizeof(float))));
  pool.data = pool.owned.get();
  if (pool.data == nullptr)
    return Error{ErrorKind::not_available,
                 std::to_string(count * sizeof(float)) + " bytes of memory for a layer's " +
                     std::to_string(layout_.num_blocks) +
                     " blocks cannot be had: set num_gpu_blocks_override to fewer"};
  return Ok{};
}

// `conv` has whole pages: a window, and behind it the temporal state.
void NumericMemory::share_pages(Pool& conv, Pool& temporal, std::int64_t window) {
  temporal.data = conv.data + window;
  temporal.elements = conv.stride - window;
  temporal.stride = conv.stride;
  conv.elements = window;
}

// `elements` of every block, from the pool's first on.
StatePool NumericMemory::view_of(const Pool& pool, std::int64_t elements) const {
  if (elements == 0) return {};
  const std::int64_t count = pool.stride * (layout_.num_blocks - 1) + elements;
  return {{pool.data, static_cast<std::size_t>(count)}, elements, pool.stride};
}

std::span<float> NumericMemory::block_of(const Pool& pool, std::int32_t block) const {
  return {pool.data + std::int64_t{block} * pool.stride, static_cast<std::size_t>(pool.elements)};
}

void NumericMemory::fill(std::int32_t block, float value) {
  if (block <= 0 || block >= layout_.num_blocks) return;
  for (const Layer& layer : layers_)
    for (const Pool* pool : {&layer.conv, &layer.temporal, &layer.keys, &layer.values})
      std::ranges::fill(block_of(*pool, block), value);
}

void NumericMemory::poison(std::int32_t block) { fill(block, kPoisonFloat); }
void NumericMemory::zero(std::int32_t block) { fill(block, 0.0F); }

void NumericMemory::copy(std::span<const StateCopyOp> copies, bool shifts_last_position_first) {
  std::vector<Moved> moved;
  for (const StateCopyOp& copy : copies) {
    const std::int32_t group = layout_.mamba_groups[static_cast<std::size_t>(copy.group_index)];
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layout_.group_of_layer[i] != group) continue;
      const std::int64_t shift = std::int64_t{copy.accept_token_bias} * layout_.conv_dim[i];
      if (shifts_last_position_first && copy.conv_src_block == copy.dst_block && shift > 0)
        shift_last_position_first(copy, i);
      else
        read(layers_[i].conv, {copy.conv_src_block, copy.dst_block, shift}, moved);
      read(layers_[i].temporal, {copy.temporal_src_block, copy.dst_block, 0}, moved);
    }
  }
  for (const Moved& move : moved) std::ranges::copy(move.values, move.to.begin());
}

void NumericMemory::shift_last_position_first(const StateCopyOp& copy, std::size_t layer) {
  const Pool& pool = layers_[layer].conv;
  const auto dim = static_cast<std::size_t>(layout_.conv_dim[layer]);
  const auto bias = static_cast<std::size_t>(copy.accept_token_bias);
  if (dim == 0) return;
  const std::span<float> window = block_of(pool, copy.dst_block);
  const std::size_t positions = window.size() / dim;
  for (std::size_t i = positions - std::min(bias, positions); i-- > 0;)
    std::ranges::copy(window.subspan((i + bias) * dim, dim), window.subspan(i * dim).begin());
}

void NumericMemory::copy_blocks(std::span<const BlockCopy> copies) {
  const auto is_block = [&](std::int32_t block) { return block > 0 && block < layout_.num_blocks; };
  std::vector<Moved> moved;
  for (const BlockCopy& copy : copies) {
    if (!is_block(copy.block) || !is_block(copy.source_block)) continue;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (layout_.group_of_layer[i] != copy.group) continue;
      for (const Pool* pool : {&layers_[i].keys, &layers_[i].values})
        read(*pool, {copy.source_block, copy.block, 0}, moved);
    }
  }
  for (const Moved& move : moved) std::ranges::copy(move.values, move.to.begin());
}

void NumericMemory::read(const Pool& pool, const Move& move, std::vector<Moved>& moved) const {
  if (pool.elements == 0) return;
  const auto shift = static_cast<std::size_t>(std::min(move.shift, pool.elements));
  const auto to = block_of(pool, move.to).first(static_cast<std::size_t>(pool.elements) - shift);
  if (move.from < 0) return moved.push_back({to, std::vector<float>(to.size(), kPoisonFloat)});
  const auto from = block_of(pool, move.from).subspan(shift);
  moved.push_back({to, {from.begin(), from.end()}});
}

}  // namespace hybridscope
