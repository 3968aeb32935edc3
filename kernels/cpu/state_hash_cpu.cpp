#include "kernels/cpu/state_hash_cpu.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {
namespace {

void add_state(const HashView& view, std::int32_t block, std::uint64_t* sums) {
  const std::byte* state = view.data + block * view.block_stride;
  if (!view.is_conv())
    for (std::int64_t word = 0; word < view.num_units(); ++word)
      sums[0] += hash_word(view, state, word);
  for (std::int64_t position = 0; position < view.num_positions; ++position)
    for (std::int64_t channel = 0; channel < view.num_channels; ++channel)
      sums[1 + position] += hash_element(view, state, position, channel);
}

}  // namespace

void hash_states(const HashedStates& states, std::span<const std::int32_t> blocks,
                 std::span<std::uint64_t> sums) {
  const auto width = static_cast<std::size_t>(num_sums(states));
  HS_EXPECT(sums.size() == blocks.size() * width);
  std::ranges::fill(sums, 0);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] < 1 || blocks[i] >= states.num_blocks) continue;
    for (const HashView& view : states.views) add_state(view, blocks[i], &sums[i * width]);
  }
}

}  // namespace hybridscope
