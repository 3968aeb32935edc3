// Profile `reference` corrupts state as the reference does, but an engine under it breaks no
// contract of its own: whatever is scheduled can be prepared, sampled and taken back.
#include <gtest/gtest.h>

#include <random>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/policy_table.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::reference_profile_test {
namespace {

class ReferenceProfile : public testing::TestWithParam<MambaCacheMode> {};

TEST_P(ReferenceProfile, RunsRandomScenariosWithoutABrokenContract) {
  constexpr std::uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  const auto in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  std::int64_t num_findings = 0;
  for (int i = 0; i < 1500; ++i) {
    const ScenarioShape shape = draw_shape(GetParam(), in);
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << " scenario " << i << " " << shape);
    EngineScenario scenario = make_scenario(shape);
    const PolicySet before = scenario.config.policies;
    scenario.config.policies = reference_policies();
    if (i % 3 == 1) scenario.config.policies.set(RowClassing::by_meaning);
    if (i % 2 == 0) keep_caching_policies(scenario.config.policies, before);
    CheckedEngine run(scenario.config, CheckScope::step);
    std::size_t next = 0;
    for (int step = 0; step < 150; ++step) {
      for (; next < scenario.commands.size() && scenario.commands[next].step <= step; ++next) {
        const Command& command = scenario.commands[next].command;
        const auto* preempt = std::get_if<PreemptRequest>(&command);
        const auto* abort = std::get_if<AbortRequest>(&command);
        const RequestId named = preempt != nullptr ? preempt->request
                                : abort != nullptr ? abort->request
                                                   : RequestId{-1};
        if (named.value < run.engine().num_requests()) run.engine().apply(command).value();
      }
      ASSERT_NO_THROW(run.step());
    }
    num_findings += std::ssize(run.findings());
  }
  EXPECT_GT(num_findings, 0);
}

// In a step without drafts V1's builders get no counts, and without counts more than one token is a
// prefill (semantics: draft-and-accepted-counts, mamba-builder).
TEST(ReferenceProfileSplit, TheTailOfAPromptIsAPrefillInAStepWithoutDrafts) {
  CheckedEngine run({.mode = MambaCacheMode::none,
                     .num_speculative_tokens = 2,
                     .policies = reference_policies()});
  run.add(request_of(10, 3, 1));
  run.engine().apply(SetStepBudget{8}).value();
  run.step();
  const StepTrace& tail = run.step();
  ASSERT_EQ(tail.scheduled.front().num_scheduled_tokens, 2);
  EXPECT_EQ(std::get<Mamba2Metadata>(*tail.groups[1].metadata).base.num_prefills, 1);
  EXPECT_TRUE(run.findings().empty());
}

INSTANTIATE_TEST_SUITE_P(Modes, ReferenceProfile,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all));

}  // namespace
}  // namespace hybridscope::test::reference_profile_test
