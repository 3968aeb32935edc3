#include "core/caching/retention.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {

std::int32_t kept_period(const RetentionRule& rule, std::int32_t block_size) {
  return *rule.interval == 0 ? 0 : std::max(round_down(*rule.interval, block_size), block_size);
}

RetainedStates::RetainedStates(const RetentionRule& rule, const CachedPrompt& prompt,
                               std::int32_t block_size, bool drops_eagle_block) {
  if (!rule.interval) return;
  period_ = kept_period(rule, block_size) / block_size;
  for_each_kept_boundary(
      rule, prompt, block_size, drops_eagle_block, [&](KeptFor, std::int32_t num_tokens) {
        if (num_tokens > 0)
          columns_[static_cast<std::size_t>(num_columns_++)] = num_tokens / block_size - 1;
      });
}

bool RetainedStates::keeps(std::int32_t column) const {
  if (on_interval(column)) return true;
  return std::find(columns_.begin(), columns_.begin() + num_columns_, column) !=
         columns_.begin() + num_columns_;
}

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
