#include <gmock/gmock.h>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "sessions/live/fork.h"
#include "sessions/record/session_plan.h"
#include "sessions/record/step_record.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::fork_test {
namespace {

using test::DigestedStep;
using test::digests_of;
using test::plan_of_text;
using testing::ElementsAre;
using testing::HasSubstr;

// A recording in memory that has stamps only.
class StampList final : public StepSource {
 public:
  explicit StampList(const std::vector<DigestedStep>& steps,
                     std::int32_t digest_version = kDigestVersion)
      : digest_version_(digest_version) {
    for (const DigestedStep& step : steps)
      stamps_.push_back({.step = step.step, .digests = step.digests, .counts = {}});
  }

  std::string title() const override { return "run.db:before"; }
  const EngineConfig& config() const override { return config_; }
  RecordLevel level() const override { return RecordLevel::counts; }
  std::int32_t digest_version() const override { return digest_version_; }
  std::string request_name(RequestId) const override { return {}; }
  Result<const StepStamp*> next() override {
    if (next_ == stamps_.size()) return nullptr;
    return &stamps_[next_++];
  }
  Result<const StepRecord*> record() override { return invalid_input("stamps only"); }

 private:
  EngineConfig config_;
  std::vector<StepStamp> stamps_;
  std::int32_t digest_version_;
  std::size_t next_ = 0;
};

RunPlan parent_plan() {
  return plan_of_text(
      R"({"version": 1, "name": "n", "model": "tiny-mamba2",
          "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 48,
                       "max_model_len": 64, "async_scheduling": false,
                       "speculative_config": {"num_speculative_tokens": 2}},
          "requests": [{"id": "A", "prompt": 11, "max_tokens": 20},
                       {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 16},
                        "max_tokens": 12, "at_step": 3}],
          "script": [{"step": 4, "budget": 20, "accept": {"A": 2}}, {"step": 6, "preempt": ["B"]}],
          "expect": {"finished": 2}})");
}

std::string error_of(const ForkAt& at) { return fork_plan(parent_plan(), at).error().message; }

TEST(Fork, ChangesAreLaidOverWhatTheScriptSaysOfTheStep) {
  const RunPlan fork = fork_plan(parent_plan(), {.step = 4,
                                                 .changes = {.accept = {{"B", 1}, {"A", 3}},
                                                             .drafts = {{"A", 1}},
                                                             .preempt = {"B"},
                                                             .abort = {"A"}}})
                           .value();
  ASSERT_EQ(fork.script.size(), 2u);
  EXPECT_EQ(fork.script[0], (ScriptStep{.step = 4,
                                        .budget = 20,
                                        .accept = {{"A", 3}, {"B", 1}},
                                        .drafts = {{"A", 1}},
                                        .preempt = {"B"},
                                        .abort = {"A"}}));
  EXPECT_EQ(fork.script[1], parent_plan().script[1]);
  EXPECT_EQ(fork.expect, Expectation{});
}

TEST(Fork, NumbersOutsideTheRangesOfAScenarioAreRefused) {
  EXPECT_EQ(error_of({.step = 4, .changes = {.budget = 0}}),
            "fork at step 4: budget: expected 1 to 16777216, found 0");
  EXPECT_EQ(error_of({.step = 4, .requests = {{.id = "C", .prompt = {.tokens = -3}}}}),
            "fork at step 4: prompt tokens: expected 1 to 16777216, found -3");
  EXPECT_EQ(
      error_of({.step = 4, .requests = {{.id = "C", .prompt = {.tokens = 3}, .max_tokens = 0}}}),
      "fork at step 4: max_tokens: expected 1 to 16777216, found 0");
}

TEST(Fork, AStepThatTheScriptDoesNotHaveComesInItsPlace) {
  const RunPlan fork =
      fork_plan(parent_plan(), {.step = 5,
                                .changes = {.budget = 3,
                                            .engine = EngineProfile::reference,
                                            .policies = {RowClassing::by_meaning}}})
          .value();
  ASSERT_EQ(fork.script.size(), 3u);
  EXPECT_EQ(fork.script[1].step, 5);
  EXPECT_EQ(fork.script[1].budget, 3);
  EXPECT_EQ(fork.script[1].engine, EngineProfile::reference);
  EXPECT_THAT(fork.notes, testing::Contains(HasSubstr("step 5 changes the profile to reference")));
}

TEST(Fork, TheRestOfTheScriptCanBeDropped) {
  const RunPlan fork =
      fork_plan(parent_plan(), {.step = 4, .changes = {.budget = 9}, .drop_script = true}).value();
  EXPECT_THAT(fork.script, ElementsAre(ScriptStep{.step = 4, .budget = 9}));
  EXPECT_THAT(fork_plan(parent_plan(), {.step = 5, .drop_script = true}).value().script,
              ElementsAre(parent_plan().script[0]));
}

TEST(Fork, ARequestJoinsAtItsStepAndMaySharePrefixes) {
  const RunPlan fork =
      fork_plan(parent_plan(),
                {.step = 5,
                 .requests = {{.id = "C",
                               .prompt = {.tokens = 18, .share = "A", .share_tokens = 16},
                               .max_tokens = 2}}})
          .value();
  ASSERT_EQ(fork.requests.size(), 3u);
  const AddRequest& added = fork.requests[2].request;
  EXPECT_EQ(fork.requests[2].at_step, 5);
  EXPECT_EQ(added.name, "C");
  ASSERT_EQ(added.prompt.size(), 3u);
  EXPECT_EQ(added.prompt[0], fork.requests[0].request.prompt[0]);
  EXPECT_EQ(added.prompt[1].source, PromptSegment::Source::output);
  EXPECT_EQ(added.prompt[1].length, 5);
}

TEST(Fork, PlansAgreeUpToTheStepBeforeTheFirstDifference) {
  const RunPlan plan = parent_plan();
  EXPECT_EQ(num_agreed_steps(plan, plan), kMaxStep);
  const auto fork = [&](const ForkAt& at) { return fork_plan(plan, at).value(); };
  const RunPlan scripted = fork({.step = 5, .changes = {.budget = 3}});
  EXPECT_EQ(num_agreed_steps(plan, scripted), 4);
  EXPECT_EQ(num_agreed_steps(scripted, plan), 4);
  EXPECT_EQ(num_agreed_steps(plan, fork({.step = 6, .drop_script = true})), 5);
  const ScenarioRequest request{.id = "C", .prompt = {.tokens = 9}, .max_tokens = 4};
  EXPECT_EQ(num_agreed_steps(plan, fork({.step = 2, .requests = {request}})), 1);
  RunPlan other = plan;
  other.settings.block_size = 16;
  EXPECT_EQ(num_agreed_steps(plan, other), 0);
}

TEST(Fork, WhatIsWrongNamesTheForkAndThePlace) {
  EXPECT_EQ(error_of({.step = 4, .changes = {.accept = {{"A", 4}}}}),
            "fork at step 4: /accept/A: 4 accepted tokens with num_speculative_tokens 2 (expected "
            "1 to 3, the bonus token included)");
  EXPECT_EQ(error_of({.step = 4, .changes = {.accept = {{"A", 0}}}}),
            "fork at step 4: /accept/A: 0 accepted tokens with num_speculative_tokens 2 (expected "
            "1 to 3, the bonus token included)");
  EXPECT_EQ(error_of({.step = 4, .changes = {.abort = {"Z"}}}),
            "fork at step 4: /abort/0: no request is called \"Z\"");
  EXPECT_EQ(error_of({.step = 2, .changes = {.preempt = {"B"}}}),
            "fork at step 2: /preempt/0: request \"B\" joins at step 3, after step 2");
  EXPECT_THAT(error_of({.step = 4, .changes = {.policies = {FullAttentionCut::first_spec_group}}}),
              HasSubstr("fork at step 4: /policies/full_attention_cut: "));
  EXPECT_EQ(error_of({.step = 4, .requests = {{.id = "A", .prompt = {.tokens = 3}}}}),
            "fork at step 4: request \"A\" is there already");
  EXPECT_THAT(error_of({.step = 4, .requests = {{.id = "C", .prompt = {.tokens = 90}}}}),
              HasSubstr("fork at step 4: request \"C\": the prompt has 90 tokens"));
  EXPECT_EQ(error_of({.step = 0}), "fork at step 0: expected a step from 1 to 1000000000");
}

TEST(Fork, IsItsParentBeforeItsStepAndCanBeWrittenAndRead) {
  const std::vector<DigestedStep> parent = digests_of(parent_plan());
  ASSERT_GT(parent.size(), 8u);
  for (std::size_t k = 1; k <= parent.size(); ++k) {
    const auto step = static_cast<std::int32_t>(parent[k - 1].step);
    const RunPlan fork =
        fork_plan(
            parent_plan(),
            {.step = step, .changes = {.reset_prefix_cache = PrefixCacheReset::preempting_running}})
            .value();
    const auto steps = digests_of(fork);
    const auto read = read_session_plan(write_session_plan(fork), "plan");
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(digests_of(read.value()), steps);
    for (std::size_t i = 0; i + 1 < k; ++i) EXPECT_EQ(steps[i], parent[i]) << "fork at " << step;
    EXPECT_NE(steps[k - 1], parent[k - 1]) << "fork at " << step;
    StampList stored(parent);
    ForkGuard guard(stored, step);
    for (const DigestedStep& made : steps)
      ASSERT_TRUE(guard.check(made.step, made.digests).ok()) << "fork at " << step;
  }
}

TEST(ForkGuard, NamesTheStepThatIsNotItsParents) {
  const std::vector<DigestedStep> parent = digests_of(parent_plan());
  std::vector<DigestedStep> steps = parent;
  steps[2].digests[StepSection::copies] ^= 1;
  StampList stored(parent);
  ForkGuard guard(stored, 5);
  EXPECT_TRUE(guard.check(1, steps[0].digests).ok());
  EXPECT_TRUE(guard.check(2, steps[1].digests).ok());
  EXPECT_EQ(
      guard.check(3, steps[2].digests).error().message,
      "step 3: copies are not those of run.db:before: the session does not reproduce here, so "
      "it cannot be forked at step 5");
}

TEST(ForkGuard, NamesAStepThatOneOfThemLacks) {
  const std::vector<DigestedStep> parent = digests_of(parent_plan());
  StampList stored(parent);
  ForkGuard guard(stored, 5);
  EXPECT_THAT(guard.check(2, parent[1].digests).error().message,
              HasSubstr("step 1: the fork lacks a step of run.db:before"));
  StampList shorter({parent[0], parent[2]});
  ForkGuard other(shorter, 5);
  EXPECT_TRUE(other.check(1, parent[0].digests).ok());
  EXPECT_THAT(other.check(2, parent[1].digests).error().message,
              HasSubstr("step 2: there is no such step in run.db:before"));
}

TEST(ForkGuard, HoldsAForkThatEndsEarlyAgainstWhatItsParentStillHas) {
  const std::vector<DigestedStep> parent = digests_of(parent_plan());
  StampList stored(parent);
  ForkGuard guard(stored, 5);
  EXPECT_TRUE(guard.check(1, parent[0].digests).ok());
  EXPECT_EQ(guard.finish().error().message,
            "step 2: the fork lacks a step of run.db:before: the session does not reproduce here, "
            "so it cannot be forked at step 5");
  StampList ends(parent);
  ForkGuard whole(ends, 2);
  EXPECT_TRUE(whole.check(1, parent[0].digests).ok());
  EXPECT_TRUE(whole.finish().ok());
}

TEST(ForkGuard, ComparesOnlyNumbersOfStepsWithOtherDigests) {
  const std::vector<DigestedStep> parent = digests_of(parent_plan());
  StampList stored(parent, 1);
  ForkGuard guard(stored, 5);
  EXPECT_THAT(guard.note(), HasSubstr("recorded with other digests (version 1, this program"));
  EXPECT_TRUE(guard.check(1, parent[4].digests).ok());
  EXPECT_THAT(guard.check(3, parent[2].digests).error().message,
              HasSubstr("step 2: the fork lacks a step of"));
  StampList same(parent);
  EXPECT_EQ(ForkGuard(same, 5).note(), "");
}

// A step whose sections all hold `digest`.
DigestedStep step_of(std::int64_t step, std::uint64_t digest) {
  DigestedStep made{.step = step, .digests = {}};
  made.digests.of.fill(digest);
  return made;
}

RerunReport report_of(const std::vector<DigestedStep>& again,
                      const std::vector<DigestedStep>& recorded,
                      RecordedEnd end = RecordedEnd::of_the_run) {
  StampList made(again);
  StampList stored(recorded);
  return rerun(made, stored, end).value();
}

TEST(Rerun, EqualStepsReproduce) {
  const std::vector<DigestedStep> steps = {step_of(1, 7), step_of(900, 8)};
  const RerunReport report = report_of(steps, steps);
  EXPECT_TRUE(report.reproduces());
  EXPECT_EQ(report.num_equal, 2);
}

TEST(Rerun, TheFirstDifferentStepTellsItsSections) {
  std::vector<DigestedStep> again = {step_of(1, 7), step_of(2, 8), step_of(3, 9)};
  again[1].digests[StepSection::graph] = 1;
  again[1].digests[StepSection::rows] = 1;
  again[1].digests[StepSection::blocks] = 1;
  const RerunReport report = report_of(again, {step_of(1, 7), step_of(2, 8), step_of(3, 1)});
  EXPECT_FALSE(report.reproduces());
  EXPECT_EQ(report.num_equal, 1);
  EXPECT_EQ(report.num_different, 2);
  EXPECT_EQ(report.first_different, 2);
  EXPECT_THAT(report.sections,
              ElementsAre(StepSection::blocks, StepSection::rows, StepSection::graph));
  EXPECT_EQ(section_list(report.sections), "blocks, rows and graph");
}

TEST(Rerun, StepsThatOneSideLacksAreCounted) {
  const RerunReport report =
      report_of({step_of(1, 7), step_of(3, 7), step_of(6, 7), step_of(7, 7)},
                {step_of(1, 7), step_of(2, 7), step_of(5, 7), step_of(6, 7)});
  EXPECT_EQ(report.num_equal, 2);
  EXPECT_EQ(report.num_missing, 2);
  EXPECT_EQ(report.first_missing, 2);
  EXPECT_EQ(report.num_extra, 2);
  EXPECT_EQ(report.first_extra, 3);
  EXPECT_FALSE(report.reproduces());
}

TEST(Rerun, ARecordingThatEndsBeforeItsRunIsHeldAgainstAsManySteps) {
  const std::vector<DigestedStep> again = {step_of(1, 7), step_of(2, 7), step_of(3, 7)};
  EXPECT_TRUE(report_of(again, {step_of(1, 7)}, RecordedEnd::before_it).reproduces());
  EXPECT_EQ(report_of(again, {step_of(1, 7)}).num_extra, 2);
}

TEST(Rerun, ARecordingWithOtherDigestsSaysNothing) {
  StampList made({step_of(1, 7)});
  StampList stored({step_of(1, 7)}, 1);
  const auto report = rerun(made, stored, RecordedEnd::of_the_run);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::not_available);
  EXPECT_EQ(report.error().message,
            "run.db:before was recorded with other digests (version 1, this program makes 2): its "
            "steps cannot be compared with those made now");
}

}  // namespace

}  // namespace hybridscope::fork_test
