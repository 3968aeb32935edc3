#include "gui/model/live_run.h"

#include <gmock/gmock.h>

#include "sessions/live/fork.h"
#include "sessions/record/step_digests.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::live_run_test {
namespace {

using test::plan_of_file;
using test::scenario_at;

void run_to_the_end(LiveRun& run) {
  for (int i = 0; i < 500; ++i) {
    const auto moved = run.forward();
    if (!moved.ok() || !moved.value()) return;
  }
}

// Everything of the step that is shown: decisions and findings, the activity, who wrote what.
struct Shown {
  std::int64_t step = 0;
  StepDigests digests;
  std::vector<RequestActivity> activity;
  std::vector<std::size_t> chains;  // [blocks] lengths
  friend bool operator==(const Shown&, const Shown&) = default;
};

Shown shown(LiveRun& run, std::size_t number) {
  const StepView view = run.view();
  StepDigester digester([&](RequestId id) { return view.names.request(id); });
  Shown result{.step = run.step(),
               .digests = digester.digest(view.trace, view.findings),
               .activity = run.activities(number, 1)[0].requests,
               .chains = {}};
  const std::int32_t num_blocks = run.config().kv_cache_config.num_blocks;
  for (std::int32_t block = 0; block < num_blocks; ++block)
    result.chains.push_back(run.write_chain(block, ContentKind::temporal).value().writes.size());
  return result;
}

std::vector<Shown> all_shown(LiveRun& run) {
  run_to_the_end(run);
  std::vector<Shown> steps;
  for (std::size_t i = 0; i < run.marks().size(); ++i) {
    EXPECT_TRUE(run.go_to(run.marks()[i].step).ok());
    steps.push_back(shown(run, i));
  }
  return steps;
}

void expect_the_same(LiveRun& run, const RunPlan& plan) {
  const auto anew = LiveRun::create(plan).value();
  const std::vector<Shown> expected = all_shown(*anew);
  EXPECT_EQ(all_shown(run), expected);
  EXPECT_EQ(run.findings().size(), anew->findings().size());
  EXPECT_EQ(run.is_whole(), anew->is_whole());
}

// What a person changes, and a request that joins; not every scenario allows every one.
std::vector<ForkAt> changes_at(std::int32_t step, const std::string& request) {
  ScenarioRequest joins{.id = "joins", .prompt = {.tokens = 9}, .max_tokens = 4};
  return {{.step = step, .changes = {.budget = 8}},
          {.step = step, .changes = {.accept = {{request, 1}}}},
          {.step = step, .changes = {.preempt = {request}}},
          {.step = step, .changes = {.abort = {request}}},
          {.step = step, .changes = {.reset_prefix_cache = PrefixCacheReset::preempting_running}},
          {.step = step, .requests = {joins}}};
}

TEST(LiveRun, APlanThatIsChangedGoesOnAsIfItHadBeenRunFromTheStart) {
  constexpr std::int32_t kStep = 2;
  int num_changed = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    const RunPlan plan = plan_of_file(path);
    for (const ForkAt& change : changes_at(kStep + 1, plan.requests[0].request.name)) {
      const auto run = LiveRun::create(plan).value();
      run_to_the_end(*run);
      const auto changed = fork_plan(plan, change);
      if (!changed.ok() || !run->continue_with(changed.value(), kStep)) continue;
      SCOPED_TRACE(path);
      ASSERT_EQ(run->step(), kStep);
      ASSERT_EQ(run->last_known_step(), kStep);
      expect_the_same(*run, changed.value());
      ASSERT_TRUE(run->continue_with(plan, kStep));  // and back
      expect_the_same(*run, plan);
      ++num_changed;
    }
  }
  EXPECT_GT(num_changed, 100);
}

TEST(LiveRun, OnlyTheStepsBehindAChangeAreRunAgain) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 4);
  ASSERT_TRUE(run->go_to(3).ok());
  const RunPlan changed =
      fork_plan(*run->plan(), {.step = 4, .changes = {.accept = {{"A", 1}}}}).value();
  const std::int64_t before = run->player().num_steps_run();
  ASSERT_TRUE(run->continue_with(changed, 3));
  EXPECT_EQ(run->player().num_steps_run(), before);
  EXPECT_EQ(run->step(), 3);
}

TEST(LiveRun, APlanThatDiffersEarlierIsNotFollowed) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 3);
  const RunPlan changed =
      fork_plan(*run->plan(), {.step = 2, .changes = {.accept = {{"A", 1}}}}).value();
  EXPECT_FALSE(run->continue_with(changed, 2));
  EXPECT_FALSE(run->continue_with(changed, 9));
  EXPECT_EQ(run->step(), 3);
  EXPECT_TRUE(run->continue_with(changed, 1));
  EXPECT_EQ(run->marks().size(), 1u);
}

}  // namespace
}  // namespace hybridscope::live_run_test
