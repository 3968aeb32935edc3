// A clone goes on as its original would have, and neither notices the other.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/check/step_checker.h"
#include "core/engine/policy_table.h"
#include "sessions/record/step_digests.h"
#include "sessions/run/step_judge.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/property.h"
#include "tests/support/small_engine.h"

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
        engine_(other.engine_),
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

// What a request says does not depend on who runs it: on either runner, synchronously or
// asynchronously, with whatever frames, rows and blocks, it ends with the same tokens; and where no
// list of drafts was cut short and nobody was preempted, each of its tokens was accepted in the
// same verify row.

// First output position of a row, its drafts, its accepted count.
using VerifiedRow = std::tuple<std::int32_t, std::int32_t, std::int32_t>;

struct Outcome {
  std::map<std::int32_t, std::vector<TokenContent>> outputs;  // by request
  std::map<std::int32_t, std::vector<VerifiedRow>> verified;  // by request, of rows that counted
  bool disturbed = false;                                     // a preemption, or drafts cut
  std::int64_t num_steps = 0;
};

class Listener {
 public:
  explicit Listener(const EngineScenario& scenario)
      : scenario_(scenario), engine_(scenario.config, CheckScope::step) {}

  Outcome run() {
    for (std::size_t next = 0;
         next < scenario_.commands.size() || engine_.engine().num_unfinished() > 0;
         ++outcome_.num_steps) {
      for (;
           next < scenario_.commands.size() && scenario_.commands[next].step <= outcome_.num_steps;
           ++next)
        give(scenario_.commands[next].command);
      listen(engine_.step());
      if (!engine_.findings().empty()) {
        ADD_FAILURE() << describe(engine_.findings().front());
        break;
      }
      if (outcome_.num_steps > 2500) {
        ADD_FAILURE() << "unfinished";
        break;
      }
    }
    return std::move(outcome_);
  }

 private:
  // A command for a request that is not there yet is left out.
  void give(const Command& command) {
    const auto* preempt = std::get_if<PreemptRequest>(&command);
    if (preempt != nullptr && preempt->request.value >= engine_.engine().num_requests()) return;
    engine_.engine().apply(command).value();
  }

  void listen(const StepTrace& trace) {
    Frame& frame = frames_[trace.step];
    for (const ScheduledTrace& scheduled : trace.scheduled) {
      const std::int32_t cut = scheduled.num_drafts_offered - scheduled.num_draft_tokens;
      if (cut > 0) outcome_.disturbed = true;
      frame.emplace_back();
    }
    for (const RowTrace& row : trace.rows) {
      const ScheduledTrace& scheduled = trace.scheduled_of(row);
      frame[static_cast<std::size_t>(row.scheduled)] = {
          row.num_computed_tokens + scheduled.num_scheduled_tokens - scheduled.num_draft_tokens,
          scheduled.num_draft_tokens, row.num_sampled_tokens};
    }
    if (!trace.preempted.empty()) outcome_.disturbed = true;
    if (trace.committed_step == 0) return;
    const Frame& returned = frames_.at(trace.committed_step);
    for (std::size_t i = 0; i < trace.committed.size(); ++i) {
      const CommitTrace& commit = trace.committed[i];
      if (commit.num_appended_tokens == 0) continue;
      const std::int32_t request = commit.request.value;
      if (commit.outcome == CommitOutcome::taken) outcome_.verified[request].push_back(returned[i]);
      for (std::int32_t t = 0; t < commit.num_appended_tokens; ++t)
        outcome_.outputs[request].push_back(engine_.engine().token(
            commit.request, commit.num_tokens - commit.num_appended_tokens + t));
    }
    frames_.erase(trace.committed_step);
  }

  using Frame = std::vector<VerifiedRow>;  // [scheduled]
  const EngineScenario& scenario_;
  CheckedEngine engine_;
  std::map<std::int64_t, Frame> frames_;
  Outcome outcome_;
};

ScenarioShape quiet_shape(MambaCacheMode mode, std::mt19937_64& random) {
  const auto in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  ScenarioShape shape = draw_shape(mode, in);
  shape.ngram = false;
  shape.num_aborts = 0;
  return shape;
}

void compare_runs(MambaCacheMode mode, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  int compared_rows = 0;
  for (int i = 0; i < 400; ++i) {
    const ScenarioShape shape = quiet_shape(mode, random);
    std::optional<Outcome> first;
    for (const int variant : {0, 1, 2, 3}) {
      EngineScenario scenario = make_scenario(shape);
      scenario.config.runner = variant < 2 ? ModelRunner::v1 : ModelRunner::v2;
      scenario.config.async_scheduling = variant % 2 == 1;
      SCOPED_TRACE(testing::Message()
                   << "seed " << seed << " scenario " << i << " runner v" << 1 + variant / 2
                   << " asynchronous " << scenario.config.async_scheduling << " " << shape);
      const Outcome outcome = Listener(scenario).run();
      if (!first) {
        first = outcome;
        continue;
      }
      ASSERT_EQ(outcome.outputs, first->outputs);
      if (outcome.disturbed || first->disturbed) continue;
      ASSERT_EQ(outcome.verified, first->verified);
      ++compared_rows;
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared_rows, 50);
}

TEST(SameOutputs, ModeAlign) { compare_runs(MambaCacheMode::align, 11); }
TEST(SameOutputs, ModeNone) { compare_runs(MambaCacheMode::none, 12); }
TEST(SameOutputs, ModeAll) { compare_runs(MambaCacheMode::all, 13); }

}  // namespace

}  // namespace hybridscope::test::engine_clone_test
