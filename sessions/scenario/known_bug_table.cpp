#include "sessions/scenario/known_bug_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "core/model/model_policies.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

constexpr CalendarDate day(std::int32_t year, std::int32_t month, std::int32_t number) {
  return {year, month, number};
}

constexpr BugLife kOpen = {};
constexpr BugLife kNever = {.occurs = false};
constexpr BugLife until(CalendarDate fixed) { return {.fixed = fixed}; }
constexpr BugLife between(CalendarDate appeared, CalendarDate fixed) {
  return {.appeared = appeared, .fixed = fixed};
}

constexpr BugLife from(CalendarDate appeared) { return {.appeared = appeared}; }

constexpr ReleaseSpan kNoRelease = {};
constexpr ReleaseSpan kEveryRelease = {.first = Release::v0_24_0};
constexpr ReleaseSpan releases(Release first, Release last) {
  return {.first = first, .last = last};
}
constexpr ReleaseSpan up_to(Release last) { return releases(Release::v0_24_0, last); }

// A row: life and releases with runner V1 and with V2.
constexpr KnownBug bug(std::string_view id, std::int32_t number,
                       std::array<PolicyValue, 2> policies, BugLife v1, BugLife v2,
                       ReleaseSpan v1_releases = {}, ReleaseSpan v2_releases = {},
                       std::string_view part = {}) {
  return {id, number, policies, v1, v2, v1_releases, v2_releases, part};
}

constexpr KnownBug kKnownBugs[] = {
    bug("mid-block-chunk-poisons-slot", 1, {AlignedSplit::until_last_cache_position},
        until(day(2026, 8, 6)), until(day(2026, 8, 6)), up_to(Release::v0_26_0),
        releases(Release::v0_25_1, Release::v0_26_0)),
    bug("eagle-margin-inflates-hybrid-hit", 2, {MambaEagleLookahead::longer_limit},
        until(day(2026, 7, 12)), until(day(2026, 7, 12)), up_to(Release::v0_25_1),
        releases(Release::v0_25_1, Release::v0_25_1)),
    bug("accepted-count-cross-program-race", 3, {AcceptedCountReset::in_place}, kNever,
        until(day(2026, 8, 4)), kNoRelease, releases(Release::v0_25_1, Release::v0_27_1)),
    bug("same-block-conv-shift-race", 4, {SameBlockShift::last_position_first},
        until(day(2026, 8, 17)), until(day(2026, 8, 17)), up_to(Release::v0_28_0),
        releases(Release::v0_25_1, Release::v0_28_0)),
    bug("kplus1-prompt-replays-verify-graph", 5, {UniformDecodeTest::by_shape}, kOpen, kOpen,
        kEveryRelease, up_to(Release::v0_27_1)),
    bug("one-token-first-chunk-as-decode", 6, {RowClassing::by_shape_past_the_prompt},
        until(day(2026, 9, 21)), until(day(2026, 9, 21)), up_to(Release::v0_30_0),
        up_to(Release::v0_30_0)),
    bug("no-draft-step-reads-column-zero", 7, {NoDraftStep::column_zero}, kOpen, kOpen,
        up_to(Release::v0_31_0), up_to(Release::v0_31_0)),
    bug("padded-prompt-tail-folds-placeholders", 8, {OneTokenPrompt::padded_with_placeholders},
        until(day(2026, 9, 3)), until(day(2026, 9, 3)),
        releases(Release::v0_25_1, Release::v0_29_0), releases(Release::v0_25_1, Release::v0_29_0)),
    // This is the padding of no. 8 where the request has no state yet, which outlived the end of
    // no. 8.
    bug("padded-one-token-prompt-folds-placeholders", 8, {OneTokenPrompt::padded_with_placeholders},
        kOpen, kOpen, releases(Release::v0_25_1, kNewestRelease),
        releases(Release::v0_25_1, kNewestRelease), "b"),
    bug("align-counts-permuted-twice", 9,
        {AcceptedCountOwner::persistent_row, AcceptedCountLanding::before_row_moves}, kOpen, kNever,
        kEveryRelease, kNoRelease),
    bug("short-tail-sorted-before-spec-decodes", 12, {RowOrder::query_len}, kNever,
        until(day(2026, 7, 9)), kNoRelease, up_to(Release::v0_25_1)),
    // The newer orders, and a padded prompt in place of the short rest.
    bug("padded-prompt-sorted-before-verify-rows", 12,
        {RowOrder::drafts_then_query_len, OneTokenPrompt::padded_with_placeholders}, kNever,
        from(day(2026, 7, 9)), kNoRelease, releases(Release::v0_26_0, kNewestRelease), "b"),
    // The newer orders without any padding: a chunk that is as long as a verify row.
    bug("full-chunk-sorted-before-decode-rows", 12, {FullRowsFirst::every_row}, kNever,
        from(day(2026, 7, 9)), kNoRelease, releases(Release::v0_26_0, kNewestRelease), "c"),
    bug("stale-accepted-count-on-slot-reuse", 13, {SlotCountReset::align_only}, kNever,
        until(day(2026, 7, 9)), kNoRelease, up_to(Release::v0_25_1)),
    bug("dummy-run-writes-through-stale-row", 14, {DummyRunTables::left_over},
        until(day(2026, 7, 28)), until(day(2026, 7, 28)), up_to(Release::v0_26_0),
        up_to(Release::v0_26_0)),
    bug("gdn-gates-not-gathered", 15, {GdnGates::in_batch_order, NoDraftStep::column_zero},
        until(day(2026, 8, 11)), until(day(2026, 8, 11)), up_to(Release::v0_27_1),
        up_to(Release::v0_27_1)),
    bug("reset-stale-frame-rolls-back-computed", 17, {StaleFrame::discard_by_token_count},
        until(day(2026, 7, 29)), until(day(2026, 7, 29)), up_to(Release::v0_24_0),
        up_to(Release::v0_24_0)),
    bug("all-mode-spec-boundary-not-stored", 18,
        {AllModeSpeculation::full_steps_remembered_no_copies}, kOpen, kOpen,
        up_to(Release::v0_31_0), kNoRelease),
    bug("all-mode-conv-anchor-mismatch", 19, {AllModeSpeculation::full_steps_remembered_no_copies},
        kOpen, kOpen, up_to(Release::v0_31_0), kNoRelease),
    bug("conv-state-not-sized-for-spec", 25, {ConvStateSizing::as_reference}, kOpen, kOpen,
        up_to(Release::v0_31_0), up_to(Release::v0_31_0)),
    bug("stale-mamba-state-idx-after-reset", 32, {ResumedStateColumn::remembered},
        until(day(2026, 2, 24)), kNever),
    bug("chunk-tail-runs-as-decode", 33, {RowClassing::by_shape}, until(day(2026, 3, 17)), kNever),
    bug("stale-is-prefilling-in-padding", 34,
        {PaddingPrefilling::left_over, RowClassing::by_shape_past_the_prompt},
        until(day(2026, 5, 21)), kNever),
    bug("pad-id-vs-null-block", 35, {NullRows::run}, between(day(2026, 1, 30), day(2026, 4, 11)),
        between(day(2026, 1, 30), day(2026, 4, 11))),
    bug("gdn-unstable-token-partition", 37, {GdnTokenPartition::unstable}, until(day(2025, 12, 14)),
        until(day(2025, 12, 14))),
    bug("racy-accepted-counts-non-align", 39, {AcceptedCountRead::before_the_copy},
        between(day(2026, 3, 3), day(2026, 3, 4)), kNever),
    bug("all-mode-metadata-reuse-stale-buffers", 40, {ReusedMetadata::state_indices_only},
        until(day(2026, 2, 24)), kNever),
    bug("all-plus-spec-source-column-lost", 41, {AllModeSpeculation::computed_column_no_copies},
        until(day(2026, 5, 18)), kNever),
    bug("fused-postprocess-first-block-table", 42, {PostCopyBlockTable::of_first_group}, kNever,
        kNever),
    bug("same-step-prefix-hit", 43, {BlockRegistration::at_allocation_hit_at_once},
        until(day(2026, 2, 9)), until(day(2026, 2, 9))),
    bug("optimistic-length-picks-column", 44, {RunningColumn::of_optimistic_count},
        until(day(2026, 2, 14)), kNever),
    bug("conv-rolling-window-varlen", 47, {ConvRoll::window_length}, until(day(2025, 9, 17)),
        until(day(2025, 9, 17))),
    bug("skipped-step-forgets-accepted-count", 48, {AcceptedCountOwner::persistent_row}, kOpen,
        kNever, kEveryRelease, kNoRelease),
    bug("priority-victim-keeps-registered-block", 49, {BlockRegistration::at_allocation}, kOpen,
        kOpen, kEveryRelease, kEveryRelease),
    bug("resumed-tail-runs-as-decode", 50, {RowClassing::by_shape_past_the_prompt}, kOpen, kNever,
        kEveryRelease, kNoRelease),
    bug("reset-discards-later-valid-frames", 51, {StaleFrame::discard_by_token_count},
        until(day(2026, 7, 29)), until(day(2026, 7, 29)), up_to(Release::v0_26_0),
        up_to(Release::v0_26_0)),
    bug("padded-prompt-token-overwritten", 52,
        {OneTokenPrompt::padded_with_placeholders, PaddedPromptToken::last_sampled}, kNever,
        until(day(2026, 7, 7))),
    bug("returning-request-verifies-placeholders", 53, {ReturningDrafts::placeholders}, kOpen,
        kNever, kEveryRelease, kNoRelease),
    bug("unreserved-state-spoils-running-block", 54, {CheckpointWrites::every_valid_chunk}, kNever,
        kNever, releases(Release::v0_32_0, kNewestRelease),
        releases(Release::v0_32_0, kNewestRelease)),
    bug("block-left-half-full-gets-whole-key", 55, {CheckpointStart::inside_block_too}, kNever,
        kNever, releases(Release::v0_32_0, kNewestRelease),
        releases(Release::v0_32_0, kNewestRelease)),
    bug("prompt-tail-keyed-after-it-moved-on", 56, {TailRegistration::of_later_steps_too}, kNever,
        kNever, releases(Release::v0_26_0, Release::v0_31_0),
        releases(Release::v0_26_0, Release::v0_31_0)),
    bug("hit-inside-block-of-same-step", 57,
        {SameStepTail::copied, BlockRegistration::at_allocation}, kNever, kNever,
        releases(Release::v0_26_0, kNewestRelease), releases(Release::v0_26_0, kNewestRelease)),
    bug("boundary-windows-stored-by-piece", 58, {ConvBoundaries::by_piece}, kNever, kNever),
    bug("kda-gates-step-by-head", 59, {KdaGateStride::heads}, kNever, kNever),
    bug("deferred-frees-preempt-for-ever", 0, {DeferredFreeRefusal::preempt_on}, kOpen, kOpen,
        up_to(Release::v0_29_0), up_to(Release::v0_29_0)),
    bug("backward-copy-suppressed", 0, {BackwardPostCopy::suppressed}, kNever, kNever),
};

std::vector<std::string_view> ids() {
  std::vector<std::string_view> all;
  for (const KnownBug& bug : kKnownBugs) all.push_back(bug.id);
  return all;
}

bool has_values(const PolicyOverrides& policies, const KnownBug& bug) {
  return std::ranges::all_of(bug.values(), [&](const PolicyValue& value) {
    return policies.values[value.place] == value.value;
  });
}

// What the releases do.
class ReleaseValues {
 public:
  ReleaseValues() {
    for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2})
      for (std::size_t i = 0; i < release_names().size(); ++i)
        releases_.push_back({static_cast<Release>(i), runner,
                             overrides_of(release_policies(static_cast<Release>(i), runner))});
  }

  // Does a release that has the bug have this value of one of its policies? Later releases change a
  // policy without mending the fault.
  bool bring(const KnownBug& bug, std::size_t place, std::uint8_t value) const {
    return value != policy_at(place).safe &&
           std::ranges::any_of(releases_, [&](const OfRelease& one) {
             return bug.releases(one.runner).has(one.release) &&
                    one.policies.values[place] == value;
           });
  }

 private:
  struct OfRelease {
    Release release;
    ModelRunner runner;
    PolicyOverrides policies;
  };
  std::vector<OfRelease> releases_;
};

}  // namespace

std::span<const KnownBug> known_bug_table() { return kKnownBugs; }

std::string bug_number(const KnownBug& bug) {
  return bug.number > 0 ? fmt::format("{}{}", bug.number, bug.part) : std::string();
}

Result<const KnownBug*> find_known_bug(std::string_view name) {
  for (const KnownBug& bug : kKnownBugs)
    if (bug.id == name || (bug.number > 0 && bug_number(bug) == name)) return &bug;
  return Error{
      ErrorKind::not_found,
      fmt::format("there is no known bug {}{} (\"hybridscope bugs list\" names the {})",
                  quoted_text(name), nearest_key_hint(name, ids()), std::size(kKnownBugs))};
}

PolicyOverrides policies_of(std::span<const KnownBug* const> bugs) {
  PolicyOverrides policies;
  for (const KnownBug* bug : bugs)
    for (const PolicyValue& value : bug->values()) policies.set(value);
  return policies;
}

std::vector<const KnownBug*> bugs_with(const PolicySet& policies) {
  const PolicyOverrides set = overrides_of(policies);
  const ReleaseValues releases;
  std::vector<const KnownBug*> found;
  for (const KnownBug& bug : kKnownBugs)
    if (std::ranges::all_of(bug.values(), [&](const PolicyValue& value) {
          const std::uint8_t has = *set.values[value.place];
          return has == value.value || releases.bring(bug, value.place, has);
        }))
      found.push_back(&bug);
  return found;
}

PolicyOverrides without_cause(PolicyOverrides set, const PolicyOverrides& cause) {
  for (const Policy& policy : policy_table())
    if (cause.values[policy.place]) set.values[policy.place] = policy.safe;
  return set;
}

std::vector<const KnownBug*> bugs_of(const EngineProfile& profile, ModelRunner runner) {
  std::vector<const KnownBug*> found;
  const PolicyOverrides reference = overrides_of(reference_policies());
  for (const KnownBug& bug : kKnownBugs) {
    const BugLife& life = bug.life(runner);
    switch (profile.kind) {
      case EngineProfile::Kind::safe: break;
      case EngineProfile::Kind::reference:
        if (life.occurs && has_values(reference, bug)) found.push_back(&bug);
        break;
      case EngineProfile::Kind::vllm_release:
        if (bug.releases(runner).has(profile.release)) found.push_back(&bug);
        break;
      case EngineProfile::Kind::vllm_day:
        if (life.alive_on(profile.date)) found.push_back(&bug);
        break;
    }
  }
  if (profile.kind == EngineProfile::Kind::vllm_day)
    std::ranges::stable_sort(found, [&](const KnownBug* a, const KnownBug* b) {
      const auto& end_a = a->life(runner).fixed;
      const auto& end_b = b->life(runner).fixed;
      return end_b && (!end_a || *end_a > *end_b);
    });
  return found;
}

}  // namespace hybridscope
