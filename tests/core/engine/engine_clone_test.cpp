// A clone goes on as its original would have, and neither notices the other.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check/step_checker.h"
#include "core/engine/policy_table.h"
#include "sessions/record/step_digests.h"
#include "sessions/run/step_judge.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/property.h"

namespace hybridscope::test::engine_clone_test {
namespace {

constexpr int kMaxSteps = 2000;
constexpr std::size_t kChangedSteps = 100;  // the reference's policies may go round for ever

// An engine on its way through a scenario, with its checker.
class Drive {
 public:
  explicit Drive(const EngineScenario& scenario)
      : scenario_(&scenario),
        engine_(Engine::create(scenario.config).value()),
        checker_(StepChecker::create(make_check_config(scenario.config)).value()) {}

  Drive(Drive&&) = default;
  Drive clone() const { return Drive(*this); }

  bool done() const {
    return (next_ == scenario_->commands.size() && engine_.num_unfinished() == 0 &&
            !engine_.has_frame_in_flight()) ||
           step_ == kMaxSteps;
  }

  StepDigests step() {
    for (; next_ < scenario_->commands.size() && scenario_->commands[next_].step <= step_; ++next_)
      (void)engine_.apply(scenario_->commands[next_].command);  // refused: there is no request yet
    ++step_;
    const StepTrace& trace = engine_.step();
    return digester_.digest(trace, checker_.check(trace, CheckScope::all));
  }

  // Goes another way than the scenario says.
  void stray() {
    RC_ASSERT(engine_.apply(ResetPrefixCache{.reset_running_requests = true}).ok());
    for (int i = 0; i < 3; ++i) engine_.step();
  }

  // Goes on with the reference's policies, but for those that cannot change.
  void change_policies() {
    PolicySet policies = reference_policies();
    keep_fixed_policies(policies, engine_.config().policies);
    RC_ASSERT(engine_.apply(SetPolicies{policies}).ok());
  }

  // `most` steps, if the scenario has so many.
  std::vector<StepDigests> finish(std::size_t most = kMaxSteps) {
    std::vector<StepDigests> digests;
    while (!done() && digests.size() < most) digests.push_back(step());
    return digests;
  }

 private:
  Drive(const Drive& other)
      : scenario_(other.scenario_),
        engine_(other.engine_.clone()),
        checker_(other.checker_),
        next_(other.next_),
        step_(other.step_) {}

  const EngineScenario* scenario_;
  Engine engine_;
  StepChecker checker_;
  StepDigester digester_{[](RequestId request) { return std::to_string(request.value); }};
  std::size_t next_ = 0;
  int step_ = 0;
};

void check_clone(const ScenarioShape& shape, int at_percent) {
  const EngineScenario scenario = make_scenario(shape);
  const std::vector<StepDigests> alone = Drive(scenario).finish();
  const auto at = alone.size() * static_cast<std::size_t>(at_percent) / 100;

  Drive original(scenario);
  for (std::size_t i = 0; i < at; ++i) RC_ASSERT(original.step() == alone[i]);
  Drive first = original.clone();
  const Drive kept = original.clone();
  const std::vector<StepDigests> rest(alone.begin() + static_cast<std::ptrdiff_t>(at), alone.end());
  RC_ASSERT(first.finish() == rest);
  original.clone().stray();
  RC_ASSERT(original.finish() == rest);
  RC_ASSERT(kept.clone().finish() == rest);
}

class EngineClone : public testing::TestWithParam<MambaCacheMode> {};

TEST_P(EngineClone, GoesOnAsItsOriginal) {
  const MambaCacheMode mode = GetParam();
  int num_cases = 0;
  int num_v2 = 0;
  int num_asynchronous = 0;
  int num_deferring = 0;
  check_property(200, [&] {
    ScenarioShape shape = draw_shape(mode, [](int low, int high) { return draw(low, high); });
    check_clone(shape, draw(0, 100));
    ++num_cases;
    num_v2 += shape.runner_v2 ? 1 : 0;
    num_asynchronous += shape.asynchronous ? 1 : 0;
    num_deferring += shape.asynchronous && shape.kv_consumer ? 1 : 0;
  });
  EXPECT_GT(num_v2, 10);
  EXPECT_LT(num_v2, num_cases - 10);
  EXPECT_GT(num_asynchronous, 10);
  EXPECT_LT(num_asynchronous, num_cases - 10);
  EXPECT_GT(num_deferring, 0);
}

// What the scenario does if the policies change after `at_percent` of its steps, in the engine
// itself or, once that one is gone, in a copy.
void check_policies_of_clone(const ScenarioShape& shape, int at_percent, int& num_changed) {
  const EngineScenario scenario = make_scenario(shape);
  const std::vector<StepDigests> alone = Drive(scenario).finish();
  const auto at = alone.size() * static_cast<std::size_t>(at_percent) / 100;
  const std::vector<StepDigests> rest(alone.begin() + static_cast<std::ptrdiff_t>(at), alone.end());

  auto original = std::make_unique<Drive>(scenario);
  for (std::size_t i = 0; i < at; ++i) RC_ASSERT(original->step() == alone[i]);
  Drive changed = original->clone();
  Drive unchanged = original->clone();
  changed.change_policies();
  const std::vector<StepDigests> otherwise = changed.finish(kChangedSteps);
  Drive late = original->clone();
  original->change_policies();
  RC_ASSERT(original->finish(kChangedSteps) == otherwise);
  original.reset();
  RC_ASSERT(unchanged.finish() == rest);
  Drive moved = std::move(late);
  moved.change_policies();
  RC_ASSERT(moved.finish(kChangedSteps) == otherwise);
  if (otherwise != rest) ++num_changed;
}

TEST_P(EngineClone, HasPoliciesOfItsOwn) {
  const MambaCacheMode mode = GetParam();
  int num_changed = 0;
  check_property(60, [&] {
    const ScenarioShape shape = draw_shape(mode, [](int low, int high) { return draw(low, high); });
    check_policies_of_clone(shape, draw(0, 60), num_changed);
  });
  EXPECT_GT(num_changed, 5);
}

INSTANTIATE_TEST_SUITE_P(Modes, EngineClone,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::all,
                                         MambaCacheMode::align),
                         [](const auto& mode) {
                           return std::string(mode.param == MambaCacheMode::none  ? "none"
                                              : mode.param == MambaCacheMode::all ? "all"
                                                                                  : "align");
                         });

}  // namespace
}  // namespace hybridscope::test::engine_clone_test
