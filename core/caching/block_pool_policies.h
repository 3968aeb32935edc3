// Policies of the block pool.
#pragma once

#include <cstdint>

#include "core/base/policy_set.h"

namespace hybridscope {

// What happens to a block that was registered in this step when its writer is preempted before it
// wrote it, and may another request use it in the same step? (known bugs 43, 49)
enum class BlockRegistration : std::uint8_t {
  at_allocation,  // another request waits if the last state of its hit was registered in this step
  planned_then_published,
  at_allocation_hit_at_once,  // before February 2026: no request waits
};
template <>
struct PolicyOf<BlockRegistration> : PolicyAt<BlockRegistration::planned_then_published, 2> {};

// Without prefix caching, to which end of the free queue do freed blocks go?
enum class UncachedFree : std::uint8_t { to_front, to_back };
template <>
struct PolicyOf<UncachedFree> : PolicyAt<UncachedFree::to_front, 15> {};

}  // namespace hybridscope
