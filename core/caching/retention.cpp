#include "core/caching/retention.h"

#include <algorithm>

#include "core/base/math.h"
#include "core/caching/manager_policies.h"

namespace hybridscope {
namespace {

// Calls visit(KeptFor, tokens) for each boundary that the rule keeps besides the interval's own, in
// its order: the end of the block that holds the state, 0 if there is none. Requires:
// rule.interval. `drops_eagle_block`: the group's last block is dropped from a hit.
template <class Visit>
void for_each_kept_boundary(const RetentionRule& rule, const CachedPrompt& prompt,
                            std::int32_t block_size, bool drops_eagle_block, const Visit& visit) {
  const std::int32_t step = rule.scheduler_block_size;
  const std::int32_t alignment =
      rule.boundaries >= ReachableBoundaries::on_hit_grid ? rule.hit_alignment : step;
  const auto keep = [&](KeptFor reason, std::int32_t num_tokens) {
    visit(reason, round_down(round_down(std::max(num_tokens, 0), alignment), block_size));
  };
  const std::int32_t last = std::max(prompt.num_prompt_tokens - 1, 0);
  if (rule.boundaries >= ReachableBoundaries::replay && rule.eagle_block_drop) {
    // Where a resend of the prompt and one that extends it end their hits.
    keep(KeptFor::prompt_end, round_down(last, step) - step);
    keep(KeptFor::longer_prompt, round_down(prompt.num_prompt_tokens, step) - step);
  } else {
    keep(KeptFor::prompt_end, last);
  }
  if (rule.boundaries == ReachableBoundaries::prompt_end) return;
  keep(KeptFor::junction, prompt.shared_prefix_boundary);
  if (rule.boundaries >= ReachableBoundaries::replay_and_block_before_junction && drops_eagle_block)
    keep(KeptFor::block_before_junction, prompt.shared_prefix_boundary - block_size);
}

}  // namespace

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
