#include "core/check/symbolic_state.h"

#include <algorithm>

namespace hybridscope {

SymbolicState::SymbolicState(const SymbolicStateSize& size)
    : conv_state_len_(size.conv_state_len),
      temporal_(static_cast<std::size_t>(size.num_blocks)),
      attention_(static_cast<std::size_t>(size.num_blocks)),
      conv_(
          static_cast<std::size_t>(size.num_blocks) * static_cast<std::size_t>(size.conv_state_len),
          kPoison),
      conv_event_(static_cast<std::size_t>(size.num_blocks)),
      hash_block_size_(size.hash_block_size),
      num_inner_(size.num_inner_hash_blocks),
      inner_(static_cast<std::size_t>(size.num_blocks) *
             static_cast<std::size_t>(size.num_inner_hash_blocks)) {}

bool SymbolicState::attention_holds(std::int32_t block, std::int32_t num_slots,
                                    Fingerprint prefix) const {
  const AttentionSlots& slots = attention(block);
  if (slots.filled == num_slots) return slots.last == prefix;
  return slots.filled > num_slots && num_slots > 0 && ends_hash_block(num_slots) &&
         inner_[inner_index(block, num_slots / hash_block_size_ - 1)] == prefix;
}

void SymbolicState::copy_block(std::int32_t source, std::int32_t destination) {
  temporal(destination) = temporal(source);
  attention(destination) = attention(source);
  conv_event(destination) = conv_event(source);
  std::ranges::copy(conv(source), conv(destination).begin());
  for (std::int32_t inner = 0; inner < num_inner_; ++inner)
    inner_[inner_index(destination, inner)] = inner_[inner_index(source, inner)];
}

void SymbolicState::poison(std::int32_t block) {
  temporal(block) = {};
  attention(block) = {};
  conv_event(block) = {};
  std::ranges::fill(conv(block), kPoison);
}

void SymbolicState::zero(std::int32_t block) {
  poison(block);
  temporal(block).fingerprint = kBeforeFirstToken;
  std::ranges::fill(conv(block), kBeforeFirstToken);
}

}  // namespace hybridscope
