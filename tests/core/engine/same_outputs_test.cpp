// What a request says does not depend on who runs it: on either runner, synchronously or
// asynchronously, with whatever frames, rows and blocks, it ends with the same tokens; and where no
// list of drafts was cut short and nobody was preempted, each of its tokens was accepted in the
// same verify row.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <tuple>
#include <vector>

#include "tests/core/engine/engine_scenario.h"
#include "tests/support/small_engine.h"

namespace hybridscope::test::same_outputs_test {
namespace {

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
}  // namespace hybridscope::test::same_outputs_test
