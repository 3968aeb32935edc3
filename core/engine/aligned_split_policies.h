// The policy of the split of prefills.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Where may a prefill chunk of mode align end? The reference's rules in the order of its releases.
// (known bug 1; semantics: aligned-split)
enum class AlignedSplit : std::uint8_t {
  every_chunk_on_grid,        // a chunk that does not reach the last known token ends on the grid
  until_last_cache_position,  // reference, 0.24.0: past last_cache_position any length goes
  stops_until_last_cache_position,  // 0.26.0: the same by positions, with more stops
  stops_on_grid,                    // 0.27.1: every chunk but the last ends on the grid
  stops_but_with_checkpoints,       // 0.29.0: unless the layers store a state inside a chunk
  stops_with_replay,                // 0.30.0: unless this chunk does
  stops_before_the_last_token,      // 0.32.0: a resend computes its last token again
};
template <>
struct PolicyOf<AlignedSplit> : PolicyAt<AlignedSplit::every_chunk_on_grid, 16> {};

}  // namespace hybridscope
