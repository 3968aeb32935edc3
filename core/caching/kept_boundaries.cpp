#include "core/caching/kept_boundaries.h"

#include <algorithm>

#include "core/caching/each_kept_boundary.h"

namespace hybridscope {

std::vector<KeptBoundary> kept_boundaries(const RetentionRule& rule, const CachedPrompt& prompt,
                                          std::int32_t block_size, bool drops_eagle_block) {
  std::vector<KeptBoundary> kept;
  if (!rule.interval) return kept;
  for_each_kept_boundary(
      rule, prompt, block_size, drops_eagle_block, [&](KeptFor reason, std::int32_t num_tokens) {
        const bool known =
            std::ranges::find(kept, num_tokens, &KeptBoundary::num_tokens) != kept.end();
        if (num_tokens > 0 && !known) kept.push_back({reason, num_tokens});
      });
  return kept;
}

}  // namespace hybridscope
