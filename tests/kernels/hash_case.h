// Random states in pages, whose hashes the tests of both devices look at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/state_hash.h"
#include "tests/kernels/random_state.h"

namespace hybridscope::test {

struct HashCase {
  std::vector<std::byte> memory;      // [num_blocks] pages
  std::vector<HashView> views;        // without addresses
  std::vector<std::int64_t> offsets;  // of each state in a page
  std::int32_t num_blocks = 0;
  std::vector<std::int32_t> blocks;

  // The same states in memory that begins at `base`.
  HashedStates states_at(const std::byte* base) const {
    HashedStates states{.views = views, .num_blocks = num_blocks};
    for (std::size_t i = 0; i < views.size(); ++i) states.views[i].data = base + offsets[i];
    return states;
  }
};

// A temporal state of an odd size now and then, or a large one.
inline HashView random_temporal(const Draw& draw) {
  const std::int32_t bytes = draw(1, 300);
  return {.num_bytes = draw(1, 8) == 1 ? 70000 + bytes : bytes};
}

// [positions, channels] or [channels, positions], with gaps now and then.
inline HashView random_conv(const Draw& draw) {
  HashView view{.num_positions = draw(1, 6),
                .num_channels = draw(1, 8) == 1 ? draw(2000, 5000) : draw(1, 70),
                .elem_size = 1 << draw(0, 2)};
  const std::int32_t gap = draw(1, 4) == 1 ? draw(1, 9) : 0;
  const bool positions_first = draw(0, 1) == 0;
  view.position_stride = positions_first ? view.num_channels + gap : 1;
  view.channel_stride = positions_first ? 1 : view.num_positions + gap;
  return view;
}

// What a state takes of a page.
inline std::int64_t bytes_of(const HashView& view) {
  if (!view.is_conv()) return view.num_bytes;
  return ((view.num_positions - 1) * view.position_stride +
          (view.num_channels - 1) * view.channel_stride + 1) *
         view.elem_size;
}

inline HashCase random_hash_case(const Draw& draw, std::mt19937_64& random) {
  HashCase made{.num_blocks = draw(2, 9)};
  std::int64_t page = 0;
  const std::int32_t num_states = draw(1, 5);
  for (std::int32_t ordinal = 0; ordinal < num_states; ++ordinal) {
    HashView view = draw(0, 1) == 0 ? random_temporal(draw) : random_conv(draw);
    view.ordinal = ordinal;
    const std::int64_t alignment = view.is_conv() ? 4 : std::int64_t{1} << draw(0, 4);
    page = (page + alignment - 1) / alignment * alignment;
    made.offsets.push_back(page);
    made.views.push_back(view);
    page += bytes_of(view);
  }
  const std::int64_t unit = draw(0, 1) == 0 ? 4 : 16;
  page = (page + unit - 1) / unit * unit;
  for (HashView& view : made.views) view.block_stride = page;
  made.memory.resize(static_cast<std::size_t>(page * made.num_blocks));
  for (std::byte& byte : made.memory) byte = static_cast<std::byte>(random());
  const std::int32_t count = draw(0, 12);
  for (std::int32_t i = 0; i < count; ++i) made.blocks.push_back(draw(-1, made.num_blocks));
  return made;
}

}  // namespace hybridscope::test
