#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/check/step_checker.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/releases.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_policies.h"
#include "core/metadata/builder_policies.h"
#include "core/model/model_policies.h"
#include "sessions/run/step_judge.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/core/engine/oracle_agreement.h"
#include "tests/support/property.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::policies_test {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_of(bool caching) {
  std::vector<std::string> names;
  for (const Policy& policy : policy_table())
    if (policy.is_caching() == caching) names.emplace_back(policy.text.name);
  return names;
}

// A policy without a row would never be listed, set by a document or overridden.
TEST(PolicyTable, HasARowOfEveryPolicyThatAHeaderHas) {
  std::size_t num_policies = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(HYBRIDSCOPE_SOURCE_DIR "/core")) {
    if (entry.path().extension() != ".h" || entry.path().filename() == "policy_set.h") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("struct PolicyOf<")) ++num_policies;
  }
  EXPECT_EQ(num_policies, policy_table().size());
}

TEST(PolicyTable, CachingPoliciesAreThoseOfTheCachingStack) {
  EXPECT_THAT(names_of(true), ElementsAre("mamba_eagle_lookahead", "full_attention_cut",
                                          "block_registration", "reachable_boundaries",
                                          "eagle_margin", "eagle_proof", "hits_inside_blocks",
                                          "prompt_tail_key", "tail_registration", "same_step_tail",
                                          "prefill_checkpoint", "checkpoint_start", "skipped_basis",
                                          "state_retirement", "empty_allocation", "uncached_free"));
  EXPECT_EQ(names_of(false).size(), policy_table().size() - 16);
}

TEST(PolicyTable, AProfileIsTheColumnOfItsValues) {
  const PolicySet reference = reference_policies();
  EXPECT_TRUE(reference.is(BlockRegistration::at_allocation));
  EXPECT_TRUE(reference.is(RowClassing::by_shape));
  EXPECT_TRUE(reference.is(RowOrder::query_len));
  // Rows without a value of their own.
  EXPECT_TRUE(reference.is(AcceptedCountLanding::after_row_moves));
  EXPECT_TRUE(reference.is(DummyRunTables::zeroed));
  for (const Policy& policy : policy_table())
    EXPECT_EQ(policy.value_in(reference), policy.reference) << policy.text.name;
}

TEST(PolicyTable, ASetThatNobodyChangedIsProfileSafe) {
  for (const Policy& policy : policy_table())
    EXPECT_EQ(policy.value_in(PolicySet{}), policy.safe) << policy.text.name;
}

TEST(PolicyTable, APlaceLeadsToItsPolicy) {
  for (const Policy& policy : policy_table())
    EXPECT_EQ(policy_at(policy.place).text.name, policy.text.name);
}

TEST(PolicyTable, KeepingCachingPoliciesChangesNoOther) {
  PolicySet policies = reference_policies();
  keep_caching_policies(policies, safe_policies());
  EXPECT_TRUE(policies.is(PromptTailKey::at_replay_position_once));
  EXPECT_TRUE(policies.is(ConvStateSizing::as_reference));
  EXPECT_TRUE(policies.is(RowOrder::query_len));
  keep_fixed_policies(policies, safe_policies());
  EXPECT_TRUE(policies.is(ConvStateSizing::kernel_plus_spec));
  EXPECT_TRUE(policies.is(RowOrder::query_len));
}

TEST(PolicyValues, AnEnumNamesItsPolicy) {
  EXPECT_EQ(policy_name(NullRows::run), "null_rows");
  EXPECT_EQ(value_name(NullRows::run), "run");
  EXPECT_EQ(policy_name(FullAttentionCut::every_group), "full_attention_cut");
  EXPECT_EQ(value_name(FullAttentionCut::every_group), "every_group");
}

TEST(PolicyOverrides, ChangeThePoliciesThatTheyNameAndNoOther) {
  PolicyOverrides overrides;
  overrides.set(ConvRoll::window_length);
  overrides.set(FullAttentionCut::first_spec_group);
  EXPECT_EQ(with_overrides(safe_policies(), overrides),
            (PolicySet{ConvRoll::window_length, FullAttentionCut::first_spec_group}));
}

TEST(PolicyOverrides, OfAllPoliciesBringThemBackOverAnyOthers) {
  PolicySet policies = reference_policies();
  policies.set(ReusedMetadata::state_indices_only);
  EXPECT_EQ(with_overrides(safe_policies(), overrides_of(policies)), policies);
}

TEST(PolicyOverrides, TheLaterOfTwoLiesOnTop) {
  PolicyOverrides first;
  first.set(RowClassing::by_shape);
  first.set(NullRows::run);
  PolicyOverrides later;
  later.set(RowClassing::by_meaning);
  PolicyOverrides expected;
  expected.set(RowClassing::by_meaning);
  expected.set(NullRows::run);
  lay_over(first, later);
  EXPECT_EQ(first, expected);
}

TEST(Releases, HaveTheNamesOfThePackages) {
  EXPECT_EQ(release_names().front(), "0.24.0");
  EXPECT_EQ(release_name(kNewestRelease), "0.33.0");
  for (const std::string_view name : release_names())
    EXPECT_EQ(release_name(*parse_release(name)), name);
  EXPECT_EQ(parse_release("0.25.0"), Release::v0_25_1);  // the same engine
  EXPECT_EQ(parse_release("0.34.0"), std::nullopt);
  EXPECT_EQ(parse_release(""), std::nullopt);
}

TEST(Releases, AreChangesFromOneToTheNext) {
  const PolicySet first = release_policies(Release::v0_24_0, ModelRunner::v1);
  EXPECT_EQ(first.get<OneTokenPrompt>(), OneTokenPrompt::as_is);
  EXPECT_EQ(first.get<AlignedSplit>(), AlignedSplit::until_last_cache_position);
  EXPECT_EQ(first.get<MambaEagleLookahead>(), MambaEagleLookahead::longer_limit);
  EXPECT_EQ(first.get<HitsInsideBlocks>(), HitsInsideBlocks::never);
  const PolicySet third = release_policies(Release::v0_26_0, ModelRunner::v1);
  EXPECT_EQ(third.get<OneTokenPrompt>(), OneTokenPrompt::padded_with_placeholders);
  EXPECT_EQ(third.get<AlignedSplit>(), AlignedSplit::stops_until_last_cache_position);
  EXPECT_EQ(third.get<MambaEagleLookahead>(), MambaEagleLookahead::none);
  EXPECT_EQ(third.get<HitsInsideBlocks>(), HitsInsideBlocks::stopping_at_hash_blocks);
  EXPECT_EQ(third.get<AcceptedCountOwner>(), first.get<AcceptedCountOwner>());
  EXPECT_EQ(release_policies(Release::v0_30_0, ModelRunner::v1).get<GdnBatch>(),
            GdnBatch::padded_to_rows);
  EXPECT_EQ(release_policies(Release::v0_31_0, ModelRunner::v1).get<GdnBatch>(),
            GdnBatch::first_chunks_as_prefills);
  EXPECT_EQ(release_policies(Release::v0_33_0, ModelRunner::v1).get<GdnBatch>(),
            GdnBatch::first_chunks_as_prefills);
  const PolicySet last = release_policies(kNewestRelease, ModelRunner::v1);
  EXPECT_EQ(last.get<StaleFrame>(), StaleFrame::drained_by_scheduled_tokens);
  EXPECT_EQ(last.get<AcceptedCountOwner>(), first.get<AcceptedCountOwner>());
}

TEST(Releases, HaveChangesOfOneRunner) {
  EXPECT_EQ(release_policies(Release::v0_28_0, ModelRunner::v1).get<UniformDecodeTest>(),
            UniformDecodeTest::by_shape);
  EXPECT_EQ(release_policies(Release::v0_28_0, ModelRunner::v2).get<UniformDecodeTest>(),
            UniformDecodeTest::by_row_class);
}

// Back at the front of the free queue after one release.
TEST(Releases, TakeAChangeBack) {
  const auto uncached_free = [](Release release) {
    return release_policies(release, ModelRunner::v1).get<UncachedFree>();
  };
  EXPECT_EQ(uncached_free(Release::v0_26_0), UncachedFree::to_front);
  EXPECT_EQ(uncached_free(Release::v0_27_1), UncachedFree::to_back);
  EXPECT_EQ(uncached_free(Release::v0_28_0), UncachedFree::to_front);
}

// Policies that change while an engine runs: what they do to states is for the checker to find; the
// engine's own books stay in order.

// Goes from one profile to the other every `every` steps.
void run(const EngineScenario& scenario, int every) {
  constexpr int kMaxSteps = 300;  // the reference's policies may go round for ever
  Engine engine = Engine::create(scenario.config).value();
  StepChecker checker = StepChecker::create(make_check_config(scenario.config)).value();
  std::size_t next = 0;
  for (int step = 0; step < kMaxSteps; ++step) {
    for (; next < scenario.commands.size() && scenario.commands[next].step <= step; ++next)
      (void)engine.apply(scenario.commands[next].command);  // refused: there is no request yet
    if (step % every == 0) {
      PolicySet policies = step / every % 2 == 0 ? reference_policies() : safe_policies();
      keep_fixed_policies(policies, scenario.config.policies);
      RC_ASSERT(engine.apply(SetPolicies{policies}).ok());
    }
    const StepTrace& trace = engine.step();
    checker.check(trace, CheckScope::all);
    RC_ASSERT(trace.num_scheduled_tokens <= scenario.config.max_num_batched_tokens);
    if (next == scenario.commands.size() && engine.num_unfinished() == 0 &&
        !engine.has_frame_in_flight())
      break;
  }
  if (engine.num_unfinished() == 0 && !engine.has_frame_in_flight())
    RC_ASSERT(engine.kv_cache().num_free_blocks() ==
              scenario.config.kv_cache_config.num_blocks - 1);
}

TEST(PoliciesOnTheWay, LeaveTheEnginesBooksInOrder) {
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::all, MambaCacheMode::align})
    check_property(150, [mode] {
      const ScenarioShape shape =
          draw_shape(mode, [](int low, int high) { return draw(low, high); });
      run(make_scenario(shape), draw(1, 6));
    });
}

// Two requests that decode with a draft each; B is left out of a step. Does it come back with
// drafts that were lost if `policies` hold from that step on?
bool loses_drafts(const PolicySet& policies) {
  EngineConfig config = engine_config({.num_speculative_tokens = 1, .max_num_seqs = 2});
  config.async_scheduling = true;
  Engine engine = Engine::create(config).value();
  engine.add_request(request_of(5, 30, 1)).value();
  engine.add_request(request_of(5, 30, 2)).value();
  for (int i = 0; i < 3; ++i) engine.step();
  engine.apply(SetPolicies{policies}).value();
  engine.apply(SetStepBudget{2}).value();
  EXPECT_EQ(engine.step().rows.size(), 1u);
  const StepTrace& trace = engine.step();
  EXPECT_EQ(trace.rows.back().origin, RowOrigin::returned);
  return trace.rows.back().lost_drafts;
}

TEST(PoliciesOnTheWay, HoldForTheDraftsOfTheNextStep) {
  EXPECT_FALSE(loses_drafts({}));
  EXPECT_TRUE(loses_drafts({ReturningDrafts::placeholders}));
}

// Random scenarios notice every policy that is not safe: a finding of the checker, or a step in
// which the engine does not do what the oracle, which knows the safe rules only, does.

struct UnsafePolicy {
  const char* name;
  MambaCacheMode mode;
  void (*set)(PolicySet& policies);
  std::optional<ModelRunner> runner{};  // absent: drawn
};

class UnsafePolicies : public testing::TestWithParam<UnsafePolicy> {};

TEST_P(UnsafePolicies, AreNoticedWithinAFewScenarios) {
  std::mt19937_64 random(1);
  const auto in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  int noticed_in = 0;
  for (int i = 1; i <= 3000 && noticed_in == 0; ++i) {
    EngineScenario scenario = make_scenario(draw_shape(GetParam().mode, in));
    GetParam().set(scenario.config.policies);
    scenario.config.runner = GetParam().runner.value_or(scenario.config.runner);
    if (!ScenarioRun(scenario).run().empty()) noticed_in = i;
  }
  EXPECT_GT(noticed_in, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Each, UnsafePolicies,
    testing::Values(
        UnsafePolicy{"AlignedSplit", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(AlignedSplit::until_last_cache_position); }},
        UnsafePolicy{"RowClassing", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(RowClassing::by_shape); }},
        UnsafePolicy{"AcceptedCountOwnerAlign", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(AcceptedCountOwner::persistent_row); }},
        UnsafePolicy{"AcceptedCountOwnerNone", MambaCacheMode::none,
                     [](PolicySet& p) { p.set(AcceptedCountOwner::persistent_row); }},
        UnsafePolicy{"OneTokenPrompt", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(OneTokenPrompt::padded_with_placeholders); }},
        UnsafePolicy{"StaleFrame", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(StaleFrame::discard_by_token_count); }},
        UnsafePolicy{"DeferredFreeRefusal", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(DeferredFreeRefusal::preempt_on); }},
        UnsafePolicy{"NoDraftStep", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(NoDraftStep::column_zero); }},
        UnsafePolicy{"UniformDecodeTest", MambaCacheMode::none,
                     [](PolicySet& p) { p.set(UniformDecodeTest::by_shape); }},
        UnsafePolicy{
            "AllModeSpeculation", MambaCacheMode::all,
            [](PolicySet& p) { p.set(AllModeSpeculation::full_steps_remembered_no_copies); }},
        UnsafePolicy{"RowOrder", MambaCacheMode::none,
                     [](PolicySet& p) { p.set(RowOrder::query_len); }, ModelRunner::v2},
        UnsafePolicy{"RowOrderByDrafts", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(RowOrder::drafts_then_query_len); }, ModelRunner::v2},
        UnsafePolicy{"FullRowsFirst", MambaCacheMode::none,
                     [](PolicySet& p) { p.set(FullRowsFirst::every_row); }, ModelRunner::v2},
        UnsafePolicy{"SlotCountResetNone", MambaCacheMode::none,
                     [](PolicySet& p) { p.set(SlotCountReset::align_only); }, ModelRunner::v2},
        UnsafePolicy{"SlotCountResetAll", MambaCacheMode::all,
                     [](PolicySet& p) { p.set(SlotCountReset::align_only); }, ModelRunner::v2},
        UnsafePolicy{"MambaEagleLookahead", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(MambaEagleLookahead::longer_limit); }},
        UnsafePolicy{"BlockRegistration", MambaCacheMode::align,
                     [](PolicySet& p) { p.set(BlockRegistration::at_allocation); }}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace

}  // namespace hybridscope::test::policies_test
