// Random scenarios in bytes: whatever the metadata says, memory holds what symbolic state says,
// under a profile that keeps every state right and under one that corrupts some.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/check/state_mirror.h"
#include "core/check/step_checker.h"
#include "core/engine/policy_table.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "tests/core/check/drawn_memory.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::random_state_test {
namespace {

// An engine, its checker, and bytes beside them.
class BytesRun {
 public:
  BytesRun(const EngineScenario& scenario, const DrawnMemory& memory)
      : scenario_(scenario),
        engine_(Engine::create(scenario.config).value()),
        checker_(StepChecker::create(check_config_of(scenario.config, memory)).value()),
        backend_(CpuStateBackend::create(make_state_memory(memory.config, memory.options).value())
                     .value()),
        twin_(StateMirror::create(check_config_of(scenario.config, memory), *backend_).value()) {
    checker_.log_ops();
  }

  bool done() const {
    return next_ == scenario_.commands.size() && engine_.num_unfinished() == 0 &&
           !engine_.has_frame_in_flight();
  }

  // Findings of the bytes.
  std::vector<std::string> step(CheckScope scope) {
    for (; next_ < scenario_.commands.size() && scenario_.commands[next_].step <= num_steps_;
         ++next_)
      (void)engine_.apply(scenario_.commands[next_].command);  // refused: there is no request yet
    const StepTrace& trace = engine_.step();
    ++num_steps_;
    num_errors_ += std::ssize(checker_.check(trace, CheckScope::step));
    num_copies_ += std::ssize(checker_.ops().copies);
    std::vector<std::string> found;
    const std::span<const Finding> findings = twin_.follow(checker_, trace.step, scope).value();
    for (const Finding& finding : findings)
      found.push_back(describe(finding) + " layer " + std::to_string(finding.layer) + " state " +
                      std::to_string(finding.state) + " element " +
                      std::to_string(finding.element));
    return found;
  }

  int num_steps() const { return num_steps_; }
  std::int64_t num_errors() const { return num_errors_; }
  std::int64_t num_copies() const { return num_copies_; }

 private:
  EngineScenario scenario_;
  Engine engine_;
  StepChecker checker_;
  std::unique_ptr<CpuStateBackend> backend_;
  StateMirror twin_;
  std::size_t next_ = 0;
  int num_steps_ = 0;
  std::int64_t num_errors_ = 0;
  std::int64_t num_copies_ = 0;
};

// What the scenarios of a test exercised.
struct Coverage {
  std::int64_t steps = 0;
  std::int64_t copies = 0;
  std::int64_t errors = 0;  // of the metadata
  int v2 = 0;
  int asynchronous = 0;
  int dim_first = 0;
};

class RandomState : public testing::TestWithParam<MambaCacheMode> {
 protected:
  Coverage run(const PolicySet& policies, std::uint64_t seed);
};

Coverage RandomState::run(const PolicySet& policies, std::uint64_t seed) {
  constexpr int kMaxSteps = 120;
  std::mt19937_64 random(seed);
  const Draw in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Coverage coverage;
  for (int i = 0; i < 400; ++i) {
    const ScenarioShape shape = draw_shape(GetParam(), in);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " scenario " << i << " " << shape);
    EngineScenario scenario = make_scenario(shape);
    scenario.config.policies = policies;
    const DrawnMemory memory = draw_memory(scenario.config, in);
    coverage.v2 += shape.runner_v2 ? 1 : 0;
    coverage.asynchronous += shape.asynchronous ? 1 : 0;
    coverage.dim_first += memory.options.conv_state_layout == ConvStateLayout::DS ? 1 : 0;
    BytesRun bytes(scenario, memory);
    while (!bytes.done() && bytes.num_steps() < kMaxSteps) {
      const CheckScope scope = bytes.num_steps() % 8 == 7 ? CheckScope::all : CheckScope::step;
      const std::vector<std::string> found = bytes.step(scope);
      EXPECT_EQ(found, std::vector<std::string>());
      if (!found.empty()) return coverage;
    }
    EXPECT_EQ(bytes.step(CheckScope::all), std::vector<std::string>());
    coverage.steps += bytes.num_steps();
    coverage.copies += bytes.num_copies();
    coverage.errors += bytes.num_errors();
  }
  EXPECT_GT(coverage.steps, 4000);
  EXPECT_GT(coverage.v2, 40);
  EXPECT_GT(coverage.asynchronous, 40);
  EXPECT_GT(coverage.dim_first, 40);
  if (GetParam() == MambaCacheMode::none) {
    EXPECT_EQ(coverage.copies, 0);
  }
  if (GetParam() == MambaCacheMode::align) {
    EXPECT_GT(coverage.copies, 1000);
  }
  return coverage;
}

TEST_P(RandomState, HoldsWhatSymbolicStateSaysWhereEveryStateIsRight) {
  const Coverage coverage = run(safe_policies(), 7001);
  // The reference copies nothing in this mode.
  if (GetParam() == MambaCacheMode::all) {
    EXPECT_GT(coverage.copies, 100);
  }
}

TEST_P(RandomState, HoldsWhatSymbolicStateSaysWhereStatesAreWrong) {
  EXPECT_GT(run(reference_policies(), 7002).errors, 500);
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomState,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all),
                         [](const auto& mode) { return mode_name(mode.param); });

}  // namespace
}  // namespace hybridscope::test::random_state_test
