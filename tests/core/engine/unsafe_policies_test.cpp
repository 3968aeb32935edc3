// Random scenarios notice every policy that is not safe: a finding of the checker, or a step in
// which the engine does not do what the oracle, which knows the safe rules only, does.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "tests/core/engine/oracle_agreement.h"

namespace hybridscope::test::unsafe_policies_test {
namespace {

struct UnsafePolicy {
  const char* name;
  MambaCacheMode mode;
  void (*set)(Policies& policies);
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
        UnsafePolicy{
            "AlignedSplit", MambaCacheMode::align,
            [](Policies& p) { p.aligned_split = AlignedSplit::until_last_cache_position; }},
        UnsafePolicy{"RowClassing", MambaCacheMode::align,
                     [](Policies& p) { p.row_classing = RowClassing::by_shape; }},
        UnsafePolicy{
            "AcceptedCountOwnerAlign", MambaCacheMode::align,
            [](Policies& p) { p.accepted_count_owner = AcceptedCountOwner::persistent_row; }},
        UnsafePolicy{
            "AcceptedCountOwnerNone", MambaCacheMode::none,
            [](Policies& p) { p.accepted_count_owner = AcceptedCountOwner::persistent_row; }},
        UnsafePolicy{
            "OneTokenPrompt", MambaCacheMode::align,
            [](Policies& p) { p.one_token_prompt = OneTokenPrompt::padded_with_placeholders; }},
        UnsafePolicy{"StaleFrame", MambaCacheMode::align,
                     [](Policies& p) { p.stale_frame = StaleFrame::discard_by_token_count; }},
        UnsafePolicy{
            "DeferredFreeRefusal", MambaCacheMode::align,
            [](Policies& p) { p.deferred_free_refusal = DeferredFreeRefusal::preempt_on; }},
        UnsafePolicy{"NoDraftStep", MambaCacheMode::align,
                     [](Policies& p) { p.no_draft_step = NoDraftStep::column_zero; }},
        UnsafePolicy{"UniformDecodeTest", MambaCacheMode::none,
                     [](Policies& p) { p.uniform_decode_test = UniformDecodeTest::by_shape; }},
        UnsafePolicy{"AllModeSpeculation", MambaCacheMode::all,
                     [](Policies& p) {
                       p.all_mode_speculation = AllModeSpeculation::full_steps_remembered_no_copies;
                     }},
        UnsafePolicy{"RowOrder", MambaCacheMode::none,
                     [](Policies& p) { p.row_order = RowOrder::query_len; }, ModelRunner::v2},
        UnsafePolicy{"RowOrderByDrafts", MambaCacheMode::align,
                     [](Policies& p) { p.row_order = RowOrder::drafts_then_query_len; },
                     ModelRunner::v2},
        UnsafePolicy{"FullRowsFirst", MambaCacheMode::none,
                     [](Policies& p) { p.full_rows_first = FullRowsFirst::every_row; },
                     ModelRunner::v2},
        UnsafePolicy{"SlotCountResetNone", MambaCacheMode::none,
                     [](Policies& p) { p.slot_count_reset = SlotCountReset::align_only; },
                     ModelRunner::v2},
        UnsafePolicy{"SlotCountResetAll", MambaCacheMode::all,
                     [](Policies& p) { p.slot_count_reset = SlotCountReset::align_only; },
                     ModelRunner::v2},
        UnsafePolicy{
            "MambaEagleLookahead", MambaCacheMode::align,
            [](Policies& p) { p.cache.mamba_eagle_lookahead = MambaEagleLookahead::longer_limit; }},
        UnsafePolicy{
            "BlockRegistration", MambaCacheMode::align,
            [](Policies& p) { p.cache.block_registration = BlockRegistration::at_allocation; }}),
    [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace hybridscope::test::unsafe_policies_test
