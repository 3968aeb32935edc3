#include "sessions/cache_report/cache_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/math.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/cache_report/progress_watch.h"
#include "sessions/runner.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMostBoundaries = 64;  // that are tried of a request's sequence
constexpr std::int64_t kMostStepsLater = 64;
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 22;

constexpr std::array<std::string_view, 9> kSlugs = {
    "more_shared_tokens", "longer_prompt",  "later",    "more_blocks", "shorter_chunks",
    "no_drafts",          "smaller_blocks", "mode_all", "caching_on"};

std::string count(std::int64_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

}  // namespace

std::string_view change_slug(ChangeKind kind) { return kSlugs[static_cast<std::size_t>(kind)]; }

std::string change_words(const CacheChange& change) {
  switch (change.kind) {
    case ChangeKind::more_shared_tokens:
      return count(change.amount, "more shared token");
    case ChangeKind::longer_prompt:
      return fmt::format("a prompt longer by {}", count(change.amount, "token"));
    case ChangeKind::later:
      return count(change.amount, "step") + " later";
    case ChangeKind::more_blocks:
      return count(change.amount, "more block");
    case ChangeKind::shorter_chunks:
      return fmt::format("long_prefill_token_threshold {}", change.amount);
    case ChangeKind::no_drafts:
      return "K = 0";
    case ChangeKind::smaller_blocks:
      return fmt::format("block_size {}", change.amount);
    case ChangeKind::mode_all:
      return "mode all";
    case ChangeKind::caching_on:
      return "mode align";
  }
  return {};
}

ChangeSearch::ChangeSearch(const RunPlan& plan, std::int64_t max_rows)
    : plan_(plan), rules_(cache_rules(plan.setup.config)), rows_left_(max_rows) {}

std::vector<CacheChange> ChangeSearch::find(const LookupOfPlan& lookup) {
  Changes changes;
  if (lookup.report.num_lost_tokens() == 0) return changes;
  try_shared_tokens(lookup, changes);
  try_longer_prompt(lookup, changes);
  try_later(lookup, changes);
  try_more_blocks(lookup, changes);
  try_shorter_chunks(lookup, changes);
  try_settings(lookup, changes);
  return changes;
}

bool ChangeSearch::helps(const Result<RunPlan>& changed, const LookupOfPlan& lookup,
                         CacheChange change, Changes& changes) {
  if (!changed.ok()) return false;
  const auto hit = hit_with(changed.value(), lookup);
  if (!hit || *hit <= lookup.report.num_hit_tokens) return false;
  change.num_hit_tokens = *hit;
  changes.push_back(change);
  return true;
}

// Empty: the lookup does not happen, the run is refused, or it takes too long.
std::optional<std::int32_t> ChangeSearch::hit_with(const RunPlan& plan,
                                                   const LookupOfPlan& lookup) {
  auto runner = Runner::create(plan);
  if (!runner.ok()) return std::nullopt;
  ProgressWatch progress;
  while (rows_left_ > 0 && !runner.value().done()) {
    const auto stepped = runner.value().step();
    if (!stepped.ok()) return std::nullopt;
    const StepTrace& trace = *stepped.value();
    rows_left_ -= static_cast<std::int64_t>(trace.scheduled.size()) + 1;
    for (const ScheduledTrace& scheduled : trace.scheduled)
      if (scheduled.admission != Admission::running && scheduled.run == lookup.report.run &&
          runner.value().engine().name_of(scheduled.request) == lookup.request)
        return scheduled.num_hit_tokens;
    if (!progress.goes_on(trace)) return std::nullopt;
  }
  return std::nullopt;
}

// Hits become longer only at boundaries, so that only prefixes that just reach one are tried.
void ChangeSearch::try_shared_tokens(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  if (!rules_.caching || report.admission != Admission::new_request || lookup.other.empty()) return;
  for (std::int32_t k = 1; k <= kMostBoundaries && !exhausted(); ++k) {
    const std::int32_t boundary = report.num_hit_tokens + k * rules_.grid;
    std::int32_t num_shared = boundary;
    if (longest_possible_hit(rules_, num_shared, num_shared + 1) < boundary)
      num_shared += rules_.eagle_block;
    if (num_shared <= report.common.num_tokens) continue;
    const auto changed = with_shared_tokens(plan_, lookup.request, lookup.other, num_shared);
    if (!changed.ok()) return;
    const CacheChange change{.kind = ChangeKind::more_shared_tokens,
                             .amount = num_shared - report.common.num_tokens};
    if (helps(changed, lookup, change, changes)) return;
  }
}

void ChangeSearch::try_longer_prompt(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  if (report.lost_to(MissReason::last_token) == 0 || report.admission != Admission::new_request)
    return;
  const CacheChange change{.kind = ChangeKind::longer_prompt, .amount = 1};
  helps(with_longer_prompt(plan_, lookup.request, 1), lookup, change, changes);
}

void ChangeSearch::try_later(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  if (report.lost_to(MissReason::not_computed) == 0 || report.admission != Admission::new_request)
    return;
  for (std::int64_t steps = 1; steps <= kMostStepsLater && !exhausted(); ++steps)
    if (helps(with_later_request(plan_, lookup.request, report.step + steps), lookup,
              {.kind = ChangeKind::later, .amount = steps}, changes))
      return;
}

// Doubles until it helps, then looks for the fewest.
void ChangeSearch::try_more_blocks(const LookupOfPlan& lookup, Changes& changes) {
  if (lookup.report.lost_to(MissReason::evicted) == 0) return;
  const std::int32_t num_blocks = plan_.setup.config.kv_cache_config.num_blocks;
  Changes found;
  const auto with = [&](std::int64_t more) {
    return helps(with_settings(plan_,
                               [&](EngineSettings& settings) {
                                 settings.num_gpu_blocks_override =
                                     static_cast<std::int32_t>(num_blocks + more);
                               }),
                 lookup, {.kind = ChangeKind::more_blocks, .amount = more}, found);
  };
  std::int64_t too_few = 0;
  std::int64_t enough = std::max(num_blocks / 64, 1);
  while (!with(enough)) {
    too_few = enough;
    enough *= 2;
    if (enough > kMostBlocks || exhausted()) return;
  }
  while (enough - too_few > 1 && !exhausted()) {
    const std::int64_t middle = too_few + (enough - too_few) / 2;
    (with(middle) ? enough : too_few) = middle;
  }
  if (exhausted()) return;  // fewer may do
  changes.push_back(found.back());
}

// A chunk that ends at a boundary leaves its state there (mode align).
void ChangeSearch::try_shorter_chunks(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  if (report.lost_to(MissReason::state_missing) == 0 ||
      plan_.setup.config.mamba_cache_mode != MambaCacheMode::align)
    return;
  std::int32_t threshold = report.num_computed_tokens;
  while (threshold >= rules_.grid && !exhausted()) {
    const auto changed = with_settings(plan_, [&](EngineSettings& settings) {
      settings.long_prefill_token_threshold = threshold;
    });
    if (helps(changed, lookup, {.kind = ChangeKind::shorter_chunks, .amount = threshold}, changes))
      return;
    threshold = round_down(threshold / 2, rules_.grid);
  }
}

void ChangeSearch::try_smaller_blocks(const LookupOfPlan& lookup, Changes& changes) {
  for (std::int32_t size = plan_.setup.config.block_size / 2; size >= 1 && !exhausted();
       size /= 2) {
    const auto changed = with_settings(plan_, [&](EngineSettings& settings) {
      settings.block_size = size;
      settings.mamba_block_size.reset();
    });
    if (changed.ok() && changed.value().setup.config.block_size == size &&
        helps(changed, lookup, {.kind = ChangeKind::smaller_blocks, .amount = size}, changes))
      return;
  }
}

void ChangeSearch::try_settings(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  const auto with_mode = [&](MambaCacheMode mode) {
    auto changed = with_settings(plan_, [&](EngineSettings& settings) {
      settings.mamba_cache_mode = mode;
      settings.enable_prefix_caching.reset();
    });
    if (changed.ok() && changed.value().setup.config.mamba_cache_mode != mode)
      return Result<RunPlan>(invalid_input("the model does not have the mode"));
    return changed;
  };
  if (report.lost_to(MissReason::caching_off) > 0) {
    helps(with_mode(MambaCacheMode::align), lookup, {.kind = ChangeKind::caching_on}, changes);
    return;
  }
  if (report.lost_to(MissReason::eagle_drop) > 0) {
    helps(without_drafts(plan_), lookup, {.kind = ChangeKind::no_drafts}, changes);
  }
  if (report.lost_to(MissReason::block_granularity) + report.lost_to(MissReason::eagle_drop) > 0)
    try_smaller_blocks(lookup, changes);
  if (report.lost_to(MissReason::state_missing) > 0)
    helps(with_mode(MambaCacheMode::all), lookup, {.kind = ChangeKind::mode_all}, changes);
}

}  // namespace hybridscope
