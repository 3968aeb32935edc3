#include "core/caching/kept_boundaries.h"

#include <algorithm>
#include <utility>

#include "core/base/math.h"

namespace hybridscope {
namespace {

class Boundaries {
 public:
  Boundaries(std::int32_t alignment, std::int32_t block_size)
      : alignment_(alignment), block_size_(block_size) {}

  void add(KeptFor reason, std::int32_t num_tokens) {
    const std::int32_t end =
        round_down(round_down(std::max(num_tokens, 0), alignment_), block_size_);
    const bool known = std::ranges::find(kept_, end, &KeptBoundary::num_tokens) != kept_.end();
    if (end > 0 && !known) kept_.push_back({reason, end});
  }

  std::vector<KeptBoundary> take() { return std::move(kept_); }

 private:
  std::int32_t alignment_;
  std::int32_t block_size_;
  std::vector<KeptBoundary> kept_;
};

}  // namespace

std::vector<KeptBoundary> kept_boundaries(const RetentionRule& rule, const CachedPrompt& prompt,
                                          std::int32_t block_size, bool drops_eagle_block) {
  if (!rule.interval) return {};
  const bool on_hit_grid = rule.boundaries >= ReachableBoundaries::on_hit_grid;
  Boundaries kept(on_hit_grid ? rule.hit_alignment : rule.scheduler_block_size, block_size);
  const std::int32_t step = rule.scheduler_block_size;
  const std::int32_t last = std::max(prompt.num_prompt_tokens - 1, 0);
  if (rule.boundaries >= ReachableBoundaries::replay && rule.eagle_block_drop) {
    kept.add(KeptFor::prompt_end, round_down(last, step) - step);
    kept.add(KeptFor::longer_prompt, round_down(prompt.num_prompt_tokens, step) - step);
  } else {
    kept.add(KeptFor::prompt_end, last);
  }
  if (rule.boundaries == ReachableBoundaries::prompt_end) return kept.take();
  kept.add(KeptFor::junction, prompt.shared_prefix_boundary);
  if (rule.boundaries >= ReachableBoundaries::replay_and_block_before_junction && drops_eagle_block)
    kept.add(KeptFor::block_before_junction, prompt.shared_prefix_boundary - block_size);
  return kept.take();
}

std::int32_t kept_period(const RetentionRule& rule, std::int32_t block_size) {
  return *rule.interval == 0 ? 0 : std::max(round_down(*rule.interval, block_size), block_size);
}

}  // namespace hybridscope
