// The table of known bugs, and the profiles that follow from it.
#include "sessions/scenario/known_bug_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "core/model/model_policies.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/settings.h"

namespace hybridscope::known_bug_table_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::vector<std::int32_t> numbers_of(std::string_view profile, ModelRunner runner) {
  std::vector<std::int32_t> numbers;
  for (const KnownBug* bug : bugs_of(*parse_engine_profile(profile), runner))
    numbers.push_back(bug->number);
  return numbers;
}

PolicySet policies_of_profile(std::string_view profile, ModelRunner runner = ModelRunner::v1) {
  EngineSettings settings;
  settings.engine = parse_engine_profile(profile);
  settings.runner = runner;
  return resolve_policies(settings);
}

TEST(EngineProfiles, AreNamed) {
  EXPECT_EQ(parse_engine_profile("safe"), EngineProfile::safe);
  EXPECT_EQ(parse_engine_profile("reference"), EngineProfile::reference);
  EXPECT_EQ(parse_engine_profile("pages"), EngineProfile::reference);  // its older name
  EXPECT_EQ(canonical_profile_name("pages"), "reference");
  EXPECT_EQ(canonical_profile_name("vllm 0.33.0"), "vllm 0.33.0");  // names no profile
  EXPECT_EQ(parse_engine_profile("vllm@2026-06-29"),
            EngineProfile::vllm(CalendarDate{2026, 6, 29}));
  EXPECT_EQ(parse_engine_profile("vllm-0.33.0"), EngineProfile::vllm(Release::v0_33_0));
  EXPECT_EQ(parse_engine_profile("vllm-0.25.0"), EngineProfile::vllm(Release::v0_25_1));
  EXPECT_EQ(canonical_profile_name("vllm"), "vllm-0.33.0");  // the newest
  for (const std::string_view name :
       {"safe", "reference", "vllm@2026-06-29", "vllm@2025-01-01", "vllm-0.24.0"})
    EXPECT_EQ(engine_profile_name(*parse_engine_profile(name)), name);
}

TEST(EngineProfiles, WhatIsNoDayIsNoProfile) {
  for (const std::string_view name :
       {"vllm-", "vllm-0.27.0", "vllm-0.34.0", "vllm@", "vllm@2026", "vllm@2026-6-29",
        "vllm@2026-02-30", "vllm@2026-13-01", "vllm@2026-06-29 ", "sglang@2026-06-29", "Safe", "",
        "vllm@1999-12-31"})
    EXPECT_FALSE(parse_engine_profile(name)) << name;
  EXPECT_TRUE(parse_date("2024-02-29"));
  EXPECT_FALSE(parse_date("2026-02-29"));
}

TEST(KnownBugTable, HasAtLeast32EntriesAnd48To57AmongThem) {
  std::set<std::int32_t> numbers;
  for (const KnownBug& bug : known_bug_table()) numbers.insert(bug.number);
  EXPECT_GE(known_bug_table().size(), 32U);
  for (const std::int32_t number : {48, 49, 50, 51, 52, 53, 54, 55, 56, 57})
    EXPECT_TRUE(numbers.contains(number));
}

TEST(KnownBugTable, IdsAndNumbersAreUnique) {
  std::set<std::string_view> ids;
  std::set<std::string> numbers;
  for (const KnownBug& bug : known_bug_table()) {
    EXPECT_TRUE(ids.insert(bug.id).second) << bug.id;
    EXPECT_TRUE(bug.number == 0 || numbers.insert(bug_number(bug)).second) << bug_number(bug);
  }
}

TEST(KnownBugTable, EveryRowNamesPolicyValuesThatSafeDoesNotHave) {
  for (const KnownBug& bug : known_bug_table())
    for (const PolicyValue& value : bug.values()) {
      ASSERT_LT(value.place, policy_table().size()) << bug.id;
      EXPECT_NE(value.value, policy_at(value.place).safe) << bug.id;
    }
}

TEST(KnownBugTable, BugsAreFoundByIdAndByNumber) {
  EXPECT_EQ(find_known_bug("48").value()->id, "skipped-step-forgets-accepted-count");
  EXPECT_EQ(find_known_bug("skipped-step-forgets-accepted-count").value()->number, 48);
  EXPECT_EQ(find_known_bug("8").value()->id, "padded-prompt-tail-folds-placeholders");
  EXPECT_EQ(find_known_bug("8b").value()->id, "padded-one-token-prompt-folds-placeholders");
  EXPECT_FALSE(find_known_bug("b").ok());
  EXPECT_FALSE(find_known_bug("08").ok());
}

TEST(KnownBugTable, AnUnknownNameIsToldWithTheNearest) {
  const auto found = find_known_bug("skiped-step-forgets-accepted-count");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().message,
              HasSubstr("did you mean \"skipped-step-forgets-accepted-count\"?"));
  EXPECT_FALSE(find_known_bug("0").ok());
  EXPECT_FALSE(find_known_bug("4711").ok());
}

TEST(BugLives, ABugIsAliveFromItsFirstDayToTheDayBeforeItsFix) {
  const BugLife life{.appeared = CalendarDate{2026, 3, 3}, .fixed = CalendarDate{2026, 3, 4}};
  EXPECT_FALSE(life.alive_on({2026, 3, 2}));
  EXPECT_TRUE(life.alive_on({2026, 3, 3}));
  EXPECT_FALSE(life.alive_on({2026, 3, 4}));
  EXPECT_TRUE(BugLife{}.alive_on({2026, 3, 4}));
  EXPECT_FALSE(BugLife{.occurs = false}.alive_on({2026, 3, 4}));
}

TEST(ReleaseProfiles, AnUnknownOneIsToldWithTheNearest) {
  EXPECT_EQ(nearest_profile_hint("vllm-0.34.0"), ", did you mean \"vllm-0.33.0\"?");
  EXPECT_EQ(nearest_profile_hint("vllm-0.25.2"), ", did you mean \"vllm-0.25.1\"?");
  EXPECT_EQ(nearest_profile_hint("referense"), ", did you mean \"reference\"?");
}

TEST(DatedProfiles, NameTheNearestRelease) {
  EXPECT_EQ(dated_profile_note(EngineProfile::safe), "");
  EXPECT_EQ(dated_profile_note(EngineProfile::vllm(Release::v0_24_0)), "");
  EXPECT_EQ(dated_profile_note(EngineProfile::vllm(CalendarDate{2026, 8, 18})),
            "vllm@2026-08-18 is profile safe with the known faults of that day; for what an "
            "installed release does take the nearest, vllm-0.29.0");
  // When 0.30.0 was cut is not known.
  EXPECT_EQ(dated_profile_note(EngineProfile::vllm(CalendarDate{2026, 9, 1})),
            "vllm@2026-09-01 is profile safe with the known faults of that day; for what an "
            "installed release does take a release after vllm-0.29.0");
}

TEST(ReleaseProfiles, HaveTheBugsOfTheirRelease) {
  EXPECT_THAT(numbers_of("vllm-0.26.0", ModelRunner::v1), Contains(1));
  EXPECT_THAT(numbers_of("vllm-0.27.1", ModelRunner::v1), Not(Contains(1)));
  EXPECT_THAT(numbers_of("vllm-0.24.0", ModelRunner::v2), Not(Contains(1)));  // no align on V2
  EXPECT_THAT(numbers_of("vllm-0.33.0", ModelRunner::v1),
              testing::UnorderedElementsAre(5, 8, 9, 48, 49, 50, 53, 54, 55, 57));
  EXPECT_THAT(numbers_of("vllm-0.33.0", ModelRunner::v2),
              testing::UnorderedElementsAre(8, 12, 12, 49, 54, 55, 57));
}

// Faults that a row of the table brings with one policy although the release has it by another
// rule.
bool comes_another_way(const KnownBug& bug, Release release) {
  // The older split's fault in a newer one.
  if (bug.number == 1) return release >= Release::v0_26_0;
  // Later forms of padding.
  if (bug.number == 8) return release >= Release::v0_29_0;
  // The order of 0.26.0 and 0.27.1, and later forms of padding.
  if (bug_number(bug) == "12b") return release <= Release::v0_27_1 || release >= Release::v0_29_0;
  // Discards that roll nothing back.
  return bug.number == 51 && release >= Release::v0_25_1;
}

TEST(ReleaseProfiles, SetThePoliciesOfTheirBugs) {
  for (const std::string_view name : release_names()) {
    const Release release = *parse_release(name);
    for (const ModelRunner runner : {ModelRunner::v1, ModelRunner::v2}) {
      const PolicyOverrides set = overrides_of(release_policies(release, runner));
      for (const KnownBug& bug : known_bug_table()) {
        if (!bug.releases(runner).has(release) || comes_another_way(bug, release)) continue;
        for (const PolicyValue& value : bug.values())
          EXPECT_EQ(set.values[value.place], value.value)
              << name << ' ' << (runner == ModelRunner::v1 ? "v1 " : "v2 ") << bug.id << ' '
              << policy_name(value);
      }
    }
  }
}

TEST(ReleaseProfiles, ChooseWhatTheSettingsLeaveOpen) {
  EngineSettings settings;
  settings.engine = EngineProfile::vllm(Release::v0_24_0);
  EXPECT_EQ(resolved_prefix_caching(settings), false);
  EXPECT_EQ(resolved_runner(settings), ModelRunner::v1);
  EXPECT_TRUE(resolved_all_by_default(settings));
  settings.engine = EngineProfile::vllm(Release::v0_33_0);
  EXPECT_EQ(resolved_prefix_caching(settings), std::nullopt);
  EXPECT_EQ(resolved_runner(settings), ModelRunner::v2);
  EXPECT_FALSE(resolved_all_by_default(settings));
  EXPECT_EQ(resolved_retention_interval(settings), 0);
  settings.runner = ModelRunner::v1;
  settings.prefix_cache_retention_interval = 16;
  EXPECT_EQ(resolved_runner(settings), ModelRunner::v1);
  EXPECT_EQ(resolved_retention_interval(settings), 16);
  settings.prefix_cache_retention_interval = kRetainsAll;
  EXPECT_EQ(resolved_retention_interval(settings), std::nullopt);
}

// 0.29.0 keeps every state with EAGLE's rules, 0.30.0 does not.
TEST(ReleaseProfiles, RetentionDependsOnTheMethodInOneRelease) {
  EngineSettings settings;
  settings.num_speculative_tokens = 1;
  settings.engine = EngineProfile::vllm(Release::v0_29_0);
  EXPECT_EQ(resolved_retention_interval(settings), std::nullopt);
  settings.speculative_method = SpeculativeMethod::ngram;
  EXPECT_EQ(resolved_retention_interval(settings), 0);
}

TEST(ReleaseProfiles, RefuseWhatTheReleaseDoesNotHave) {
  const auto conflict = [](Release release, auto change) {
    EngineSettings settings;
    settings.engine = EngineProfile::vllm(release);
    change(settings);
    const auto found = find_setting_conflict(settings);
    return found ? found->message : std::string();
  };
  const auto mode_all = [](EngineSettings& settings) {
    settings.mamba_cache_mode = MambaCacheMode::all;
  };
  EXPECT_EQ(conflict(Release::v0_31_0, mode_all), "");
  EXPECT_EQ(conflict(Release::v0_32_0, mode_all),
            "vllm-0.32.0 has no mode all any more (vllm-0.32.0 removed it)");
  EXPECT_EQ(conflict(Release::v0_28_0,
                     [](EngineSettings& settings) { settings.disable_eagle_block_drop = true; }),
            "vllm-0.28.0 has no disable_eagle_block_drop (vllm-0.30.0 brought it)");
}

TEST(ReleaseProfiles, RefuseModeAlignOnV2BeforeItWasBuiltAndWhereItRuns) {
  EngineSettings settings;
  settings.engine = EngineProfile::vllm(Release::v0_24_0);
  settings.mamba_cache_mode = MambaCacheMode::align;
  settings.runner = ModelRunner::v2;
  // Without caching, which is 0.24.0's default, mode none runs.
  EXPECT_TRUE(make_engine_setup("tiny-mamba2", settings).ok());
  settings.enable_prefix_caching = true;
  EXPECT_EQ(make_engine_setup("tiny-mamba2", settings).error().message,
            "vllm-0.24.0 has no mode align on runner v2 (vllm-0.25.1 brought it)");
  // A model without mode all runs in align.
  settings.mamba_cache_mode = MambaCacheMode::all;
  EXPECT_EQ(make_engine_setup("tiny-gdn", settings).error().message,
            "vllm-0.24.0 has no mode align on runner v2 (vllm-0.25.1 brought it)");
}

TEST(ReleaseProfiles, RefuseWhatRunnerV2OfTheReleaseDoesNotSupport) {
  const auto refused = [](Release release, MambaCacheMode mode, SpeculativeMethod method) {
    const auto found =
        runner_conflict(release, {.runner = ModelRunner::v2, .mode = mode, .method = method});
    return found ? found->message : std::string();
  };
  using Mode = MambaCacheMode;
  using Method = SpeculativeMethod;
  EXPECT_EQ(refused(Release::v0_29_0, Mode::all, Method::none), "");
  EXPECT_EQ(refused(Release::v0_30_0, Mode::all, Method::none),
            "vllm-0.30.0 has no mode all on runner v2 any more (vllm-0.30.0 removed it)");
  EXPECT_EQ(refused(Release::v0_29_0, Mode::all, Method::mtp),
            "vllm-0.29.0 has no drafts in mode all on runner v2");
  EXPECT_EQ(refused(Release::v0_31_0, Mode::align, Method::ngram),
            "vllm-0.31.0 has no method ngram on runner v2 (vllm-0.32.0 brought it)");
  EXPECT_EQ(refused(Release::v0_32_0, Mode::align, Method::ngram), "");
  const auto asynchronous_ngram = [](Release release) {
    const auto found = runner_conflict(
        release, {.runner = ModelRunner::v2, .method = Method::ngram, .async_scheduling = true});
    return found ? found->message : std::string();
  };
  EXPECT_EQ(
      asynchronous_ngram(Release::v0_32_0),
      "vllm-0.32.0 has no asynchronous scheduling with method ngram (vllm-0.33.0 brought it)");
  EXPECT_EQ(asynchronous_ngram(Release::v0_33_0), "");
  EXPECT_EQ(refused(Release::v0_30_0, Mode::none, Method::draft_model),
            "vllm-0.30.0 has no method draft_model on runner v2 (vllm-0.31.0 brought it)");
  EXPECT_EQ(refused(Release::v0_31_0, Mode::none, Method::draft_model), "");
}

TEST(DatedProfiles, HaveTheBugsThatWereAliveOnTheDay) {
  const auto june = numbers_of("vllm@2026-06-29", ModelRunner::v1);
  EXPECT_THAT(june, Contains(1));        // until 2026-08-06
  EXPECT_THAT(june, Not(Contains(33)));  // until 2026-03-17
  EXPECT_THAT(june, Not(Contains(12)));  // runner V2 only
  EXPECT_THAT(numbers_of("vllm@2026-06-29", ModelRunner::v2), Contains(12));
  const auto august = numbers_of("vllm@2026-08-18", ModelRunner::v1);
  EXPECT_THAT(august, Not(Contains(1)));
  EXPECT_THAT(august, Contains(48));
}

TEST(DatedProfiles, SetExactlyThePoliciesOfTheirBugs) {
  PolicySet august = safe_policies();
  august.set(RowClassing::by_shape_past_the_prompt);                // 6, 50
  august.set(NoDraftStep::column_zero);                             // 7
  august.set(OneTokenPrompt::padded_with_placeholders);             // 8
  august.set(AcceptedCountOwner::persistent_row);                   // 9, 48
  august.set(AcceptedCountLanding::before_row_moves);               // 9
  august.set(UniformDecodeTest::by_shape);                          // 5
  august.set(AllModeSpeculation::full_steps_remembered_no_copies);  // 18, 19
  august.set(BlockRegistration::at_allocation);                     // 49
  august.set(DeferredFreeRefusal::preempt_on);
  august.set(ReturningDrafts::placeholders);  // 53
  august.set(ConvStateSizing::as_reference);  // 25
  // What a day's profile has always done without.
  august.set(HitsInsideBlocks::never);
  august.set(PromptTailKey::never);
  august.set(PrefillCheckpoint::never);
  EXPECT_EQ(policies_of_profile("vllm@2026-08-18"), august);
}

TEST(DatedProfiles, TheOlderAndWiderOfTwoFaultsOfAPolicyHolds) {
  EXPECT_EQ(policies_of_profile("vllm@2026-03-16").get<RowClassing>(), RowClassing::by_shape);
  EXPECT_EQ(policies_of_profile("vllm@2026-03-17").get<RowClassing>(),
            RowClassing::by_shape_past_the_prompt);
  EXPECT_EQ(policies_of_profile("vllm@2026-05-17").get<AllModeSpeculation>(),
            AllModeSpeculation::computed_column_no_copies);
  EXPECT_EQ(policies_of_profile("vllm@2026-02-08").get<BlockRegistration>(),
            BlockRegistration::at_allocation_hit_at_once);
}

TEST(DatedProfiles, APolicySetAloneStandsAboveTheProfile) {
  EngineSettings settings;
  settings.engine = EngineProfile::vllm(CalendarDate{2026, 6, 29});
  settings.policies.set(AlignedSplit::every_chunk_on_grid);
  EXPECT_EQ(resolve_policies(settings).get<AlignedSplit>(), AlignedSplit::every_chunk_on_grid);
}

TEST(ProfileNames, FollowFromProfileAndPolicies) {
  EngineSettings settings;
  EXPECT_EQ(profile_name(settings), "safe");
  settings.engine = EngineProfile::vllm(CalendarDate{2026, 6, 29});
  EXPECT_EQ(profile_name(settings), "vllm@2026-06-29");
  settings.policies.set(AlignedSplit::every_chunk_on_grid);
  EXPECT_EQ(profile_name(settings), "mixed");
  settings.policies = overrides_of(reference_policies());
  EXPECT_EQ(profile_name(settings), "reference");
}

TEST(SafeProfile, HasNoBugs) {
  EXPECT_THAT(numbers_of("safe", ModelRunner::v1), testing::IsEmpty());
  EXPECT_THAT(numbers_of("safe", ModelRunner::v2), testing::IsEmpty());
}

TEST(ReferenceProfile, HasTheBugsWhosePoliciesThePagesHave) {
  const auto reference = numbers_of("reference", ModelRunner::v1);
  for (const std::int32_t number : {1, 2, 5, 7, 8, 17, 18, 19, 33, 48, 49, 51})
    EXPECT_THAT(reference, Contains(number));
  for (const std::int32_t number : {3, 4, 9, 43})
    EXPECT_THAT(reference, Not(Contains(number))) << number;
}

}  // namespace
}  // namespace hybridscope::known_bug_table_test
