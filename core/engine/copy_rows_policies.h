// Policies on post-copies.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// Mode align: whose block ids do the post-copies of each group use? (known bug 42)
enum class PostCopyBlockTable : std::uint8_t { of_each_group, of_first_group };
template <>
struct PolicyOf<PostCopyBlockTable> : PolicyAt<PostCopyBlockTable::of_each_group, 40> {};

// Mode align: are post-copies made whose destination is left of the running column? A circulating
// patch leaves them out (`hybridscope bugs run backward-copy-suppressed`).
enum class BackwardPostCopy : std::uint8_t { made, suppressed };
template <>
struct PolicyOf<BackwardPostCopy> : PolicyAt<BackwardPostCopy::made, 41> {};

// V2, mode align: where does the post-copy launch write an accepted count of 1? In place, programs
// that run later read that 1 and copy nothing. This models the worst order, in which the writing
// program runs first; the one conv state of one layer that it copies itself is not modelled. (known
// bug 3)
enum class AcceptedCountReset : std::uint8_t { separate_output, in_place };
template <>
struct PolicyOf<AcceptedCountReset> : PolicyAt<AcceptedCountReset::separate_output, 42> {};

}  // namespace hybridscope
