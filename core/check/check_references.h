// Reference counts of blocks, from event to event and against the tables that hold them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/check/check_context.h"

namespace hybridscope {

// A block whose holders or reference count an event changed, and for whom.
struct ChangedBlock {
  std::int32_t block = 0;
  RequestId request{};
  std::int32_t group = -1;
};

// Reports a block that is given out while it has references, and names a request that holds it;
// every touch adds a reference, every free takes one. Requires: the event's block is in the pool.
void check_reference_change(CheckContext& context, const CacheEvent& event);

// Reports counts that are not the columns that hold the block: each block once, for the request
// that changed it last. Sorts `changed`.
void check_reference_counts(CheckContext& context, std::vector<ChangedBlock>& changed);

}  // namespace hybridscope
