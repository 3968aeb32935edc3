#include "core/caching/retention.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {

RetainedStates::RetainedStates(const RetentionRule& rule, const CachedPrompt& prompt,
                               std::int32_t block_size, bool drops_eagle_block)
    : block_size_(block_size) {
  if (!rule.interval) return;
  period_ = *rule.interval == 0 ? 0 : std::max(*rule.interval / block_size, 1);
  const std::int32_t prompt_end = prompt.num_prompt_tokens - 1;
  const std::int32_t alignment = rule.boundaries >= ReachableBoundaries::on_hit_grid
                                     ? rule.hit_alignment
                                     : rule.scheduler_block_size;
  if (rule.boundaries >= ReachableBoundaries::replay && rule.eagle_block_drop) {
    // Where a resend of the prompt and one that extends it end their hits.
    const std::int32_t step = rule.scheduler_block_size;
    add_boundary(round_down(std::max(prompt_end, 0), step) - step, alignment);
    add_boundary(round_down(prompt.num_prompt_tokens, step) - step, alignment);
  } else {
    add_boundary(prompt_end, alignment);
  }
  if (rule.boundaries == ReachableBoundaries::prompt_end) return;
  add_boundary(prompt.shared_prefix_boundary, alignment);
  if (rule.boundaries >= ReachableBoundaries::replay_and_block_before_junction && drops_eagle_block)
    add_boundary(prompt.shared_prefix_boundary - block_size, alignment);
}

void RetainedStates::add_boundary(std::int32_t num_tokens, std::int32_t alignment) {
  if (num_tokens <= 0) return;
  columns_[static_cast<std::size_t>(num_columns_++)] =
      round_down(num_tokens, alignment) / block_size_ - 1;
}

bool RetainedStates::keeps(std::int32_t column) const {
  if (on_interval(column)) return true;
  return std::find(columns_.begin(), columns_.begin() + num_columns_, column) !=
         columns_.begin() + num_columns_;
}

}  // namespace hybridscope
