// Input and answer of KVCacheManager::allocate_slots (semantics: allocate-slots). Plain values.
#pragma once

#include <cstdint>
#include <span>

#include "core/caching/cache_hit.h"

namespace hybridscope {

struct AllocateSlotsArgs {
  std::int32_t num_new_tokens = 0;                // positive
  std::int32_t num_new_computed_tokens = 0;       // tokens of the hit
  const CacheHit* new_computed_blocks = nullptr;  // blocks of the hit; null: none
  std::int32_t num_lookahead_tokens = 0;
  bool full_sequence_must_fit = false;
  std::int32_t reserved_blocks = 0;
  bool has_scheduled_reqs = false;
};

// Why allocate_slots gave nothing.
enum class AllocationRefusal : std::uint8_t {
  none,                  // it did not refuse
  full_sequence,         // the whole sequence would not fit (full_sequence_must_fit)
  not_enough_blocks,     // too few free blocks for this step
  hit_cached_this_step,  // its state is of this step (semantics: mamba-get-num-blocks-to-allocate)
  hit_planned            // a block of the hit is planned in this step and not published yet
};

// Refused iff num_blocks_to_allocate + watermark_blocks > num_free_blocks - reserved_blocks (full
// sequence check: > num_free_blocks).
struct Allocation {
  AllocationRefusal refusal = AllocationRefusal::none;
  std::int64_t num_blocks_to_allocate = 0;  // over all groups; a hit that has to wait counts as
                                            // more than there are
  std::int64_t watermark_blocks = 0;
  std::int32_t num_free_blocks = 0;  // when it was decided
  std::int32_t reserved_blocks = 0;
  // [num_groups] Granted: the group's new blocks are block_ids(request, group) from this column on
  // (they may include null blocks and moved speculative blocks). Valid until the next call.
  std::span<const std::int32_t> first_new_column = {};

  bool granted() const { return refusal == AllocationRefusal::none; }
};

}  // namespace hybridscope
