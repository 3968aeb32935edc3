// Random scenarios notice every policy that is not safe: a finding of the checker, or a step in
// which the engine does not do what the oracle, which knows the safe rules only, does.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/all_mode_copies_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "core/engine/worker_v2_policies.h"
#include "tests/core/engine/oracle_agreement.h"

namespace hybridscope::test::unsafe_policies_test {
namespace {

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
}  // namespace hybridscope::test::unsafe_policies_test
