// The states that a retention interval keeps besides its own grid, as a list with reasons for
// explanations (semantics: retention; vLLM v1/core/single_type_kv_cache_manager.py,
// reachable_block_mask).
#pragma once

#include <cstdint>
#include <vector>

#include "core/caching/retention.h"

namespace hybridscope {

struct KeptBoundary {
  KeptFor reason = KeptFor::prompt_end;
  std::int32_t num_tokens = 0;  // before the state; a multiple of the group's block size
  friend bool operator==(const KeptBoundary&, const KeptBoundary&) = default;
};

// In the order of the rule; a state that is kept for two reasons has the first. Without an interval
// every state is kept, and the answer is empty. Parameters as those of RetainedStates.
std::vector<KeptBoundary> kept_boundaries(const RetentionRule& rule, const CachedPrompt& prompt,
                                          std::int32_t block_size, bool drops_eagle_block);

}  // namespace hybridscope
