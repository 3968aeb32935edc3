#include "core/numeric/lone_run.h"

#include <algorithm>
#include <numeric>

#include "core/numeric/hybrid_model.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kBlockSize = 64;  // tokens of a block of keys and values
constexpr std::int32_t kStateBlock = 1;

}  // namespace

LoneRun::LoneRun(const HybridModel& model) : model_(model), forward_(model) {
  for (const HybridLayer& layer : model.layers) {
    const LayerStateSize size = layer_state_size(layer);
    conv_.emplace_back(2 *
                       static_cast<std::size_t>(size.conv_dim * std::max(size.conv_width - 1, 0)));
    temporal_.emplace_back(2 * static_cast<std::size_t>(size.temporal));
    keys_.emplace_back(static_cast<std::size_t>(kBlockSize * size.keys_or_values));
    values_.push_back(keys_.back());
  }
}

void LoneRun::reserve(std::int32_t num_tokens) {
  while (num_slots_ < num_tokens) num_slots_ += kBlockSize;
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto slot = static_cast<std::size_t>(layer_state_size(model_.layers[i]).keys_or_values);
    keys_[i].resize(static_cast<std::size_t>(num_slots_ + kBlockSize) * slot);
    values_[i].resize(keys_[i].size());
  }
}

std::vector<LayerMemory> LoneRun::memory() {
  std::vector<LayerMemory> memory;
  for (std::size_t i = 0; i < conv_.size(); ++i)
    memory.push_back(
        {.conv = {conv_[i], static_cast<std::int64_t>(conv_[i].size() / 2)},
         .temporal = {temporal_[i], static_cast<std::int64_t>(temporal_[i].size() / 2)},
         .kv = {keys_[i], values_[i]}});
  return memory;
}

void LoneRun::extend(std::span<const std::int32_t> token_ids) {
  const auto count = static_cast<std::int32_t>(token_ids.size());
  reserve(num_tokens_ + count);
  std::vector<std::int32_t> positions(token_ids.size());
  std::iota(positions.begin(), positions.end(), num_tokens_);
  std::vector<std::int32_t> blocks(static_cast<std::size_t>(num_slots_ / kBlockSize));
  std::iota(blocks.begin(), blocks.end(), 1);
  const std::int32_t starts[] = {0, count};
  const std::int32_t seq_len[] = {num_tokens_ + count};
  const std::uint8_t has_initial_state[] = {num_tokens_ > 0 ? std::uint8_t{1} : std::uint8_t{0}};
  ForwardGroup group;
  group.attention = {
      .query_start_loc = starts,
      .seq_lens = seq_len,
      .block_table = matrix_view(blocks.data(), 1, static_cast<std::int32_t>(blocks.size()))};
  group.block_size = kBlockSize;
  PrefillPart row;
  row.rows = {.query_start_loc = starts,
              .has_initial_states = has_initial_state,
              .state_indices = vector_view(&kStateBlock, 1)};
  row.tokens.resize(token_ids.size());
  std::iota(row.tokens.begin(), row.tokens.end(), 0);
  group.prefills.push_back(std::move(row));
  const std::vector<std::int32_t> group_of_layer(model_.layers.size(), 0);
  const std::vector<LayerMemory> layers = memory();
  forward_.run({.token_ids = token_ids,
                .positions = positions,
                .groups = {&group, 1},
                .group_of_layer = group_of_layer,
                .memory = layers});
  num_tokens_ += count;
}

std::vector<float> LoneRun::logits(std::int32_t i) const {
  std::vector<float> logits(static_cast<std::size_t>(model_.vocab_size));
  forward_.logits(i, logits);
  return logits;
}

std::vector<LayerStates> LoneRun::states() const {
  const auto block_of = [](const std::vector<float>& pool) {
    return std::vector<float>(pool.begin() + static_cast<std::ptrdiff_t>(pool.size() / 2),
                              pool.end());
  };
  std::vector<LayerStates> states;
  for (std::size_t i = 0; i < conv_.size(); ++i)
    states.push_back({.conv = block_of(conv_[i]), .temporal = block_of(temporal_[i])});
  return states;
}

void LoneRun::go_on_from(const std::vector<LayerStates>& states, std::int32_t num_tokens) {
  const auto put = [](const std::vector<float>& block, std::vector<float>& pool) {
    std::ranges::copy(block, pool.begin() + static_cast<std::ptrdiff_t>(pool.size() / 2));
  };
  for (std::size_t i = 0; i < conv_.size(); ++i) {
    put(states[i].conv, conv_[i]);
    put(states[i].temporal, temporal_[i]);
  }
  num_tokens_ = num_tokens;
}

std::int32_t LoneSpeaker::next() {
  lone_.extend(not_run_);
  not_run_ = {greedy_token(lone_.logits(static_cast<std::int32_t>(not_run_.size()) - 1))};
  return not_run_.front();
}

std::vector<std::int32_t> say_alone(const HybridModel& model, std::span<const std::int32_t> prompt,
                                    std::size_t count) {
  LoneSpeaker speaker(model, prompt);
  std::vector<std::int32_t> said;
  while (said.size() < count) said.push_back(speaker.next());
  return said;
}

}  // namespace hybridscope
