// The policy of the retention interval.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Where does a retention interval keep states besides its own grid? In the order of the releases.
// (semantics: retention)
enum class ReachableBoundaries : std::uint8_t {
  prompt_end,                        // 0.24.0: where a resend of the prompt hits
  prompt_end_and_junction,           // 0.26.0: and where a prefix ends that others share
  on_hit_grid,                       // 0.29.0: both rounded to where hits can end
  replay,                            // 0.30.0: with a dropped block, where a resend hits then
  replay_and_block_before_junction,  // 0.33.0: and a block before the junction
};
template <>
struct PolicyOf<ReachableBoundaries>
    : PolicyAt<ReachableBoundaries::replay_and_block_before_junction, 3> {};

}  // namespace hybridscope
