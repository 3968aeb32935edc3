#include "sessions/cache_report/cache_changes.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "core/base/math.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "sessions/cache_report/changed_plan.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMostBoundaries = 64;  // tried of a request's sequence
constexpr std::int64_t kMostStepsLater = 64;
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 22;

constexpr std::int32_t kMostUnits = 16;
constexpr std::array<std::string_view, 11> kSlugs = {
    "more_shared_tokens", "longer_prompt", "later",          "more_blocks",
    "shorter_chunks",     "no_drafts",     "smaller_blocks", "mode_all",
    "caching_on",         "keep_states",   "match_unit"};

std::string count(std::int64_t number, std::string_view one) {
  return fmt::format("{} {}{}", number, one, number == 1 ? "" : "s");
}

// How much of the engine a change touches.
enum class Reach : std::uint8_t { one_request, pool, size_for_all, mode };

Reach reach_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::more_shared_tokens:
    case ChangeKind::longer_prompt:
    case ChangeKind::later: return Reach::one_request;
    case ChangeKind::more_blocks: return Reach::pool;
    case ChangeKind::shorter_chunks:
    case ChangeKind::smaller_blocks:
    case ChangeKind::keep_states:
    case ChangeKind::match_unit: return Reach::size_for_all;
    case ChangeKind::no_drafts:
    case ChangeKind::mode_all:
    case ChangeKind::caching_on: return Reach::mode;
  }
  return Reach::mode;
}

Result<RunPlan> with_match_unit(const RunPlan& plan, std::int32_t unit) {
  return with_settings(plan,
                       [unit](EngineSettings& settings) { settings.prefix_match_unit = unit; });
}

// Does the engine run with the changed setting, and with no other value in its place?
bool is_in_force(const CacheChange& change, const EngineConfig& config,
                 const EngineConfig& before) {
  switch (change.kind) {
    case ChangeKind::more_shared_tokens:
    case ChangeKind::longer_prompt:
    case ChangeKind::later: return true;
    case ChangeKind::more_blocks:
      return config.kv_cache_config.num_blocks == before.kv_cache_config.num_blocks + change.amount;
    case ChangeKind::shorter_chunks: return config.long_prefill_token_threshold == change.amount;
    case ChangeKind::no_drafts: return config.num_speculative_tokens == 0;
    case ChangeKind::smaller_blocks: return config.block_size == change.amount;
    case ChangeKind::mode_all: return config.mamba_cache_mode == MambaCacheMode::all;
    case ChangeKind::caching_on: return config.mamba_cache_mode == MambaCacheMode::align;
    case ChangeKind::keep_states: return config.prefix_cache_retention_interval == change.amount;
    case ChangeKind::match_unit: return config.hash_block_size == change.amount;
  }
  return false;
}

}  // namespace

bool is_smaller_change(const CacheChange& a, const CacheChange& b) {
  const auto size_of = [](const CacheChange& one) {
    const Reach reach = reach_of(one.kind);
    return std::tuple(reach, reach == Reach::one_request ? one.amount : 0, -one.num_hit_tokens,
                      one.kind);
  };
  return size_of(a) < size_of(b);
}

std::string_view change_slug(ChangeKind kind) { return kSlugs[static_cast<std::size_t>(kind)]; }

std::string change_words(const CacheChange& change) {
  switch (change.kind) {
    case ChangeKind::more_shared_tokens: return count(change.amount, "more shared token");
    case ChangeKind::longer_prompt:
      return fmt::format("a prompt longer by {}", count(change.amount, "token"));
    case ChangeKind::later: return count(change.amount, "step") + " later";
    case ChangeKind::more_blocks: return count(change.amount, "more block");
    case ChangeKind::shorter_chunks:
      return fmt::format("long_prefill_token_threshold {}", change.amount);
    case ChangeKind::no_drafts: return "K = 0";
    case ChangeKind::smaller_blocks: return fmt::format("block_size {}", change.amount);
    case ChangeKind::mode_all: return "mode all";
    case ChangeKind::caching_on: return "mode align";
    case ChangeKind::keep_states:
      return fmt::format("prefix_cache_retention_interval {}", change.amount);
    case ChangeKind::match_unit: return fmt::format("prefix_match_unit {}", change.amount);
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
  try_keeping_states(lookup, changes);
  try_shorter_chunks(lookup, changes);
  try_finer_units(lookup, changes);
  try_settings(lookup, changes);
  std::ranges::sort(changes, is_smaller_change);
  return changes;
}

bool ChangeSearch::helps(const Result<RunPlan>& changed, const LookupOfPlan& lookup,
                         CacheChange change, Changes& changes) {
  if (!changed.ok() || !is_in_force(change, changed.value().setup.config, plan_.setup.config))
    return false;
  const auto hit = hit_with(changed.value(), lookup);
  if (!hit || *hit <= lookup.report.num_hit_tokens) return false;
  change.num_hit_tokens = *hit;
  changes.push_back(change);
  return true;
}

// The hit of the lookup in a run of the plan; empty if the lookup does not happen, the run is
// refused, or the budget is used up.
std::optional<std::int32_t> ChangeSearch::hit_with(const RunPlan& plan,
                                                   const LookupOfPlan& lookup) {
  auto run = CheckedRun::create(plan, {.check = std::nullopt});
  if (!run.ok()) return std::nullopt;
  std::optional<std::int32_t> hit;
  const auto look = [&](const CheckedStep& step) {
    rows_left_ -= static_cast<std::int64_t>(step.trace.scheduled.size()) + 1;
    const auto found = std::ranges::find_if(step.trace.scheduled, [&](const ScheduledTrace& row) {
      return row.admission != Admission::running && row.run == lookup.report.run &&
             run.value().engine().name_of(row.request) == lookup.request;
    });
    if (found == step.trace.scheduled.end()) return Going::on;
    hit = found->num_hit_tokens;
    return Going::stop;
  };
  const auto driven = drive(run.value(), look, [this] { return rows_left_ <= 0; });
  return driven.ok() ? hit : std::nullopt;
}

// A hit grows only at block boundaries, so only prefixes that just reach one are tried.
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

// `good` helps and `bad` does not: bisects until the last value that helped is next to one that did
// not.
template <class Try>
void ChangeSearch::refine(std::int64_t good, std::int64_t bad, const Try& helps_with) {
  while (std::max(good, bad) - std::min(good, bad) > 1 && !exhausted()) {
    const std::int64_t middle = std::midpoint(good, bad);
    (helps_with(middle) ? good : bad) = middle;
  }
}

// Doubles the number until it helps, then searches the fewest blocks.
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
  refine(enough, too_few, with);
  if (exhausted()) return;  // fewer may be enough
  changes.push_back(found.back());
}

// A chunk that ends at a boundary leaves its state there (mode align). Halves the threshold until
// it helps, then searches the longest chunks that do.
void ChangeSearch::try_shorter_chunks(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  if (report.lost_to(MissReason::state_missing) == 0 ||
      plan_.setup.config.mamba_cache_mode != MambaCacheMode::align)
    return;
  Changes found;
  const auto with = [&](std::int64_t num_blocks) {
    const auto threshold = static_cast<std::int32_t>(num_blocks * rules_.grid);
    const auto changed = with_settings(plan_, [&](EngineSettings& settings) {
      settings.long_prefill_token_threshold = threshold;
    });
    return helps(changed, lookup, {.kind = ChangeKind::shorter_chunks, .amount = threshold}, found);
  };
  std::int64_t too_long = report.num_computed_tokens / rules_.grid + 1;
  std::int64_t size = too_long - 1;
  for (; size >= 1 && !exhausted() && !with(size); size /= 2) too_long = size;
  if (found.empty()) return;
  refine(size, too_long, with);
  changes.push_back(found.back());
}

// Halves the block size until that helps, then looks for the largest one that does, among sizes
// that the attention kernels take; others that the engine refuses are skipped.
void ChangeSearch::try_smaller_blocks(const LookupOfPlan& lookup, Changes& changes) {
  const ModelSpec& model = plan_.setup.layout.model;
  const bool has_kernel = !layers_of_kind(model, LayerKind::attention).empty();
  const std::int64_t unit = has_kernel ? model.kernel_block_alignment : 1;
  Changes found;
  const auto with = [&](std::int64_t num_units) {
    const auto size = static_cast<std::int32_t>(num_units * unit);
    const auto changed = with_settings(plan_, [&](EngineSettings& settings) {
      settings.block_size = size;
      settings.mamba_block_size.reset();
    });
    return helps(changed, lookup, {.kind = ChangeKind::smaller_blocks, .amount = size}, found);
  };
  std::int64_t too_large = cdiv<std::int64_t>(plan_.setup.config.block_size, unit);
  std::int64_t size = too_large / 2;
  for (; size >= 1 && !exhausted() && !with(size); size /= 2) too_large = size;
  if (found.empty()) return;
  refine(size, too_large, with);
  changes.push_back(found.back());
}

// The longest interval that keeps a state after the hit: that of the state that was not kept, else
// the one that keeps all.
void ChangeSearch::try_keeping_states(const LookupOfPlan& lookup, Changes& changes) {
  const EngineConfig& config = plan_.setup.config;
  const LookupReport& report = lookup.report;
  if (report.lost_to(MissReason::state_missing) == 0 || !config.prefix_cache_retention_interval)
    return;
  const std::int32_t step = config.scheduler_block_size;
  for (const std::int32_t interval : {round_down(report.unkept_state.num_tokens, step), step}) {
    if (interval == 0 || exhausted()) continue;
    const auto changed = with_settings(plan_, [interval](EngineSettings& settings) {
      settings.prefix_cache_retention_interval = interval;
    });
    if (helps(changed, lookup, {.kind = ChangeKind::keep_states, .amount = interval}, changes))
      return;
  }
}

// The coarsest unit that makes the hit longer.
void ChangeSearch::try_finer_units(const LookupOfPlan& lookup, Changes& changes) {
  const EngineConfig& config = plan_.setup.config;
  const LookupReport& report = lookup.report;
  if (!rules_.has_states || config.policies.is(HitsInsideBlocks::never) ||
      report.lost_to(MissReason::block_granularity) + report.lost_to(MissReason::eagle_drop) +
              report.lost_to(MissReason::state_missing) ==
          0)
    return;
  std::int32_t num_tried = 0;
  for (std::int32_t unit = rules_.grid - 1; unit >= 1 && num_tried < kMostUnits; --unit) {
    if (exhausted()) return;
    if (rules_.grid % unit != 0) continue;
    ++num_tried;
    if (helps(with_match_unit(plan_, unit), lookup,
              {.kind = ChangeKind::match_unit, .amount = unit}, changes))
      return;
  }
}

std::vector<CacheChange> ChangeSearch::coarser_units(const LookupOfPlan& lookup) {
  Changes changes;
  if (!rules_.has_states || lookup.report.num_hit_tokens % rules_.block_size == 0) return changes;
  for (std::int32_t unit = 2 * rules_.grid; unit <= rules_.block_size; unit += rules_.grid) {
    if (exhausted() || rules_.block_size % unit != 0) continue;
    const auto changed = with_match_unit(plan_, unit);
    CacheChange change{.kind = ChangeKind::match_unit, .amount = unit};
    if (!changed.ok() || !is_in_force(change, changed.value().setup.config, plan_.setup.config))
      continue;
    const auto hit = hit_with(changed.value(), lookup);
    if (!hit) continue;
    change.num_hit_tokens = *hit;
    changes.push_back(change);
  }
  return changes;
}

void ChangeSearch::try_settings(const LookupOfPlan& lookup, Changes& changes) {
  const LookupReport& report = lookup.report;
  const auto with_mode = [&](MambaCacheMode mode) {
    return with_settings(plan_, [&](EngineSettings& settings) {
      settings.mamba_cache_mode = mode;
      settings.enable_prefix_caching = true;
    });
  };
  if (report.lost_to(MissReason::caching_off) > 0) {
    helps(with_mode(MambaCacheMode::align), lookup, {.kind = ChangeKind::caching_on}, changes);
    helps(with_mode(MambaCacheMode::all), lookup, {.kind = ChangeKind::mode_all}, changes);
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
