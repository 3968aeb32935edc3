// Random scenarios: hashes of memory that follows the decisions are as expected, whether the
// decisions are right or not; and of what a fault changes most is found.
#include <gtest/gtest.h>

#include <random>

#include "core/engine/policy_table.h"
#include "tests/core/check/drawn_memory.h"
#include "tests/core/check/hashed_run.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::random_hashes_test {
namespace {

constexpr int kMaxSteps = 120;

struct Coverage {
  std::int64_t scenarios = 0;
  std::int64_t told = 0;
  std::int64_t copies = 0;
  std::int64_t findings = 0;
  std::int64_t with_finding = 0;  // scenarios
};

class RandomHashes : public testing::TestWithParam<MambaCacheMode> {
 protected:
  // `fault_at(step)`: the fault of a step.
  template <class FaultAt>
  Coverage run(const PolicySet& policies, std::uint64_t seed, int scenarios, FaultAt fault_at) {
    std::mt19937_64 random(seed);
    const Draw in = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    Coverage coverage;
    for (int i = 0; i < scenarios; ++i) {
      const ScenarioShape shape = draw_shape(GetParam(), in);
      SCOPED_TRACE(testing::Message() << "seed " << seed << " scenario " << i << " " << shape);
      EngineScenario scenario = make_scenario(shape);
      scenario.config.policies = policies;
      const DrawnMemory memory = draw_memory(scenario.config, in);
      HashedRun run(scenario.config, check_config_of(scenario.config, memory),
                    make_state_memory(memory.config, memory.options).value(), in(0, 3) > 0);
      std::size_t next = 0;
      std::int64_t found = 0;
      while ((next < scenario.commands.size() || !run.done()) && run.num_steps() < kMaxSteps) {
        for (; next < scenario.commands.size() && scenario.commands[next].step <= run.num_steps();
             ++next)
          run.apply(scenario.commands[next].command);
        for (const Finding& finding : run.step(fault_at(run.num_steps()))) {
          ++found;
          if (expects_nothing_) ADD_FAILURE() << describe(finding);
        }
        if (expects_nothing_ && found > 0) return coverage;
      }
      ++coverage.scenarios;
      coverage.told += run.num_told();
      coverage.copies += run.num_copies();
      coverage.findings += found;
      coverage.with_finding += found > 0 ? 1 : 0;
    }
    return coverage;
  }

  bool expects_nothing_ = true;
};

MemoryFault none(std::int64_t) { return {}; }

TEST_P(RandomHashes, NothingIsFoundWhereEveryStateIsRight) {
  const Coverage coverage = run(safe_policies(), 7101, 200, none);
  EXPECT_GT(coverage.told, 20000);
}

TEST_P(RandomHashes, NothingIsFoundWhereDecisionsAreWrongButMemoryFollowsThem) {
  const Coverage coverage = run(reference_policies(), 7102, 200, none);
  EXPECT_GT(coverage.told, 20000);
}

TEST_P(RandomHashes, LayersThatDoNotRunAreFound) {
  expects_nothing_ = false;
  const Coverage coverage = run(safe_policies(), 7103, 100, [](std::int64_t step) {
    return MemoryFault{.drops_forward = step == 1};
  });
  EXPECT_GT(coverage.with_finding, 90);  // some have no row in that step
}

TEST_P(RandomHashes, CopiesThatDoNotRunAreFound) {
  expects_nothing_ = false;
  const Coverage coverage = run(safe_policies(), 7104, 100,
                                [](std::int64_t) { return MemoryFault{.drops_copies = true}; });
  if (GetParam() == MambaCacheMode::none) {
    EXPECT_EQ(coverage.findings, 0);
  } else {
    EXPECT_GT(coverage.findings, coverage.copies / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomHashes,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all),
                         [](const auto& mode) { return mode_name(mode.param); });

}  // namespace
}  // namespace hybridscope::test::random_hashes_test
