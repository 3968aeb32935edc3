#include "core/check/symbolic_state.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {

SymbolicState::SymbolicState(std::int32_t num_blocks, std::int32_t conv_state_len)
    : conv_state_len_(conv_state_len),
      temporal_(static_cast<std::size_t>(num_blocks)),
      attention_(static_cast<std::size_t>(num_blocks)),
      conv_(static_cast<std::size_t>(num_blocks) * static_cast<std::size_t>(conv_state_len),
            kPoison),
      conv_event_(static_cast<std::size_t>(num_blocks)) {}

std::size_t SymbolicState::index(std::int32_t block) const {
  HS_EXPECT(block >= 0 && static_cast<std::size_t>(block) < temporal_.size());
  return static_cast<std::size_t>(block);
}

std::span<Fingerprint> SymbolicState::conv(std::int32_t block) {
  const auto length = static_cast<std::size_t>(conv_state_len_);
  return std::span(conv_).subspan(index(block) * length, length);
}

std::span<const Fingerprint> SymbolicState::conv(std::int32_t block) const {
  const auto length = static_cast<std::size_t>(conv_state_len_);
  return std::span(conv_).subspan(index(block) * length, length);
}

void SymbolicState::poison(std::int32_t block) {
  temporal(block) = {};
  attention(block) = {};
  conv_event(block) = {};
  std::ranges::fill(conv(block), kPoison);
}

}  // namespace hybridscope
