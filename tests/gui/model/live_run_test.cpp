#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/block_story.h"
#include "gui/model/graph_padding_model.h"
#include "gui/model/live_run.h"
#include "gui/model/metadata_model.h"
#include "gui/model/pool_model.h"
#include "gui/model/prefix_cache_model.h"
#include "gui/model/request_log.h"
#include "gui/model/shown_run.h"
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

StepDigests digests_here(const LiveRun& run) {
  const StepView view = run.view();
  StepDigester digester([&](RequestId id) { return view.names.request(id); });
  return digester.digest(view.trace, view.findings);
}

Shown shown(LiveRun& run, std::size_t number) {
  Shown result{.step = run.step(),
               .digests = digests_here(run),
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

// 60 requests come one after the other and share a prefix.
RunPlan long_plan() {
  std::string requests;
  for (int i = 0; i < 60; ++i)
    requests += fmt::format(
        R"({}{{"id": "R{}", "at_step": {}, "max_tokens": 24,
        "prompt": {{"tokens": 25, "share": "system", "share_tokens": 16}}}})",
        i == 0 ? "" : ", ", i, 1 + 8 * i);
  return test::plan_of_text(R"({
    "version": 1, "name": "long", "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 48,
                 "max_model_len": 128,
                 "speculative_config": {"method": "mtp", "num_speculative_tokens": 2}},
    "requests": [)" + requests +
                            "]}");
}

// The bounded run has the same chains, or a first part of them and says that it is cut.
void expect_the_same_chains(LiveRun& bounded, LiveRun& whole) {
  int num_whole = 0;
  for (std::int32_t block = 1; block < 48; block += 3) {
    const WriteChain expected = whole.write_chain(block, ContentKind::temporal).value();
    const WriteChain found = bounded.write_chain(block, ContentKind::temporal).value();
    ASSERT_EQ(found.writes.empty(), expected.writes.empty()) << "block " << block;
    ASSERT_LE(found.writes.size(), expected.writes.size()) << "block " << block;
    EXPECT_TRUE(std::equal(found.writes.begin(), found.writes.end(), expected.writes.begin()));
    if (found.end == ChainEnd::cut) continue;
    EXPECT_EQ(found.end, expected.end);
    EXPECT_EQ(found.writes.size(), expected.writes.size());
    num_whole += 1;
  }
  EXPECT_GT(num_whole, 5);
}

TEST(LiveRun, ALongRunStaysWithinItsHistoryAndAnswersForOldStepsAsIfItKeptThem) {
  const auto whole = LiveRun::create(long_plan()).value();
  const auto bounded = LiveRun::create(long_plan()).value();
  constexpr std::size_t kLimit = 600'000;
  bounded->limit_history(kLimit);
  while (whole->forward().value()) {
    ASSERT_TRUE(bounded->forward().value());
    ASSERT_LE(bounded->history_bytes(), kLimit) << bounded->step();
  }
  ASSERT_GT(whole->marks().size(), 400u);
  EXPECT_GT(whole->history_bytes(), 4 * kLimit);
  EXPECT_FALSE(bounded->activities(0, 1)[0].known);
  for (const std::size_t number : {0u, 5u, 61u, 333u, 3u}) {
    const std::int64_t step = whole->marks()[number].step;
    SCOPED_TRACE(step);
    ASSERT_TRUE(whole->go_to(step).ok());
    ASSERT_TRUE(bounded->go_to(step).ok());
    EXPECT_EQ(digests_here(*bounded), digests_here(*whole));
    EXPECT_EQ(bounded->activities(number, 1)[0].requests, whole->activities(number, 1)[0].requests);
    expect_the_same_chains(*bounded, *whole);
    for (std::int32_t request = 0; request < whole->num_requests(); ++request) {
      EXPECT_EQ(bounded->own_count({request}), whole->own_count({request}));
      EXPECT_EQ(bounded->num_hit_tokens({request}), whole->num_hit_tokens({request}));
    }
    EXPECT_EQ(bounded->free_queue(), whole->free_queue());
    ASSERT_LE(bounded->history_bytes(), kLimit);
  }
}

using test::recorded_scenario;
using testing::HasSubstr;
using testing::Not;

constexpr char kOfPool[] =
    "The session keeps no owners and labels of blocks: it was recorded at level counts.";

// Step 3 admits B and C with 4 + 12 tokens; the session keeps that there were 16.
TEST(LevelNotes, ASessionOfCountsStatesNothingThatItDoesNotKeep) {
  const test::TemporaryFolder folder;
  const auto run = recorded_scenario(folder, "shared_prefix_align", RecordLevel::counts);
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_EQ(make_pool_model(*run).not_kept, kOfPool);
  EXPECT_TRUE(make_pool_model(*run).cells.empty());
  const BlockStory story = make_block_story(*run, 2);
  EXPECT_THAT(story.not_kept, HasSubstr("recorded at level counts"));
  EXPECT_TRUE(story.facts.empty());
  EXPECT_EQ(no_lookups_words(*run),
            "The session keeps no prefix cache lookups: it was recorded at level counts.");
  EXPECT_EQ(not_kept(*run, "block tables"),
            "The session keeps no block tables: it was recorded at level counts.");
  EXPECT_FALSE(make_graph_padding_model(*run).rows.has_value());
  EXPECT_EQ(make_graph_padding_model(*run).tokens.real, 13);
  EXPECT_TRUE(make_metadata_model(*run, {}).sections.empty());
}

TEST(LevelNotes, WordsOfASessionOfCountsNameNoRequestsAndSayWhy) {
  const test::TemporaryFolder folder;
  const auto run = recorded_scenario(folder, "shared_prefix_align", RecordLevel::counts);
  ASSERT_TRUE(run->go_to(3).ok());
  const std::string words = step_in_words(*run);
  EXPECT_THAT(words, Not(HasSubstr("of 0 requests")));
  EXPECT_THAT(words, Not(HasSubstr("No request got a token")));
  EXPECT_THAT(words, HasSubstr("recorded at level counts"));
  EXPECT_THAT(words, HasSubstr("B = 8 in group 0"));
}

TEST(LevelNotes, OnlyASessionOfBlocksSaysThatContentsAreNotKept) {
  const test::TemporaryFolder folder;
  for (const RecordLevel level : {RecordLevel::counts, RecordLevel::full}) {
    const auto run = recorded_scenario(folder, "plain_decode", level);
    ASSERT_TRUE(run->go_to(1).ok());
    EXPECT_EQ(contents_not_kept(*run), "");
  }
  const auto run = recorded_scenario(folder, "plain_decode", RecordLevel::blocks);
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_THAT(contents_not_kept(*run), HasSubstr("recorded at level blocks"));
  EXPECT_EQ(not_kept(*run, "block tables"), "");
}

ShownFinding finding_of(RequestId request, const std::string& text) {
  ShownFinding shown{.finding = {}, .text = text};
  shown.finding.rule = Rule::label_mismatch;
  shown.finding.step = 5;
  shown.finding.request = request;
  return shown;
}

TEST(FindingMessage, LeavesOutWhatStandsInColumnsOfItsOwn) {
  const Names names = numbered_names();
  EXPECT_EQ(finding_message(finding_of({2}, "label-mismatch: step 5 r2: S(8) expected"), names),
            "S(8) expected");
  EXPECT_EQ(
      finding_message(finding_of({2}, "label-mismatch: step 5 r2 group 1 column 0: S(8) expected"),
                      names),
      "group 1 column 0: S(8) expected");
  EXPECT_EQ(finding_message(finding_of({}, "label-mismatch: step 5: no progress"), names),
            "no progress");
}

TEST(FindingMessage, LeavesOtherWordsAsTheyAre) {
  EXPECT_EQ(finding_message(finding_of({2}, "kept from another version"), numbered_names()),
            "kept from another version");
}

TEST(StepInWords, ARowOfATableStaysTogetherInANarrowPanel) {
  const auto run = hybridscope::test::scenario_at("async_worked_example", 3);
  EXPECT_THAT(step_in_words(*run, 50),
              testing::HasSubstr("\n  request A; how running; c 10; q 3; d 2; known 8;\n"));
}

using testing::ElementsAre;

StepTrace step(std::int64_t number) {
  StepTrace trace;
  trace.step = number;
  return trace;
}

void admit(StepTrace& trace, std::int32_t request, Admission admission, std::int32_t hit) {
  ScheduledTrace scheduled;
  scheduled.request = {request};
  scheduled.admission = admission;
  scheduled.num_hit_tokens = hit;
  trace.scheduled.push_back(scheduled);
}

// Requests 0 and 1 come in step 1; 0 ends in step 2, 1 is aborted before step 4.
class RequestLogOf : public testing::Test {
 protected:
  void SetUp() override {
    StepTrace first = step(1);
    for (const std::int32_t request : {0, 1})
      first.commands.push_back({.command = CommandKind::add_request, .request = {request}});
    admit(first, 0, Admission::new_request, 8);
    log_.take(first);
    StepTrace second = step(2);
    admit(second, 1, Admission::new_request, 0);
    CommitTrace end;
    end.request = {0};
    end.finished = true;
    second.committed.push_back(end);
    log_.take(second);
    StepTrace third = step(3);
    admit(third, 1, Admission::resumed, 16);
    log_.take(third);
    StepTrace fourth = step(4);
    fourth.commands.push_back({.command = CommandKind::abort, .request = {1}});
    log_.take(fourth);
  }
  // -1: it was not admitted up to there.
  std::int32_t hit_of(RequestId request, std::int64_t step) const {
    const auto* admitted = log_.admitted(request, step);
    return admitted == nullptr ? -1 : admitted->num_hit_tokens;
  }
  RequestLog log_;
};

TEST_F(RequestLogOf, ARequestIsThereFromItsArrivalToItsEnd) {
  EXPECT_THAT(log_.unfinished(1), ElementsAre(RequestId{0}, RequestId{1}));
  EXPECT_THAT(log_.unfinished(2), ElementsAre(RequestId{0}, RequestId{1}));
  EXPECT_THAT(log_.unfinished(3), ElementsAre(RequestId{1}));
  EXPECT_THAT(log_.unfinished(4), ElementsAre());
}

TEST_F(RequestLogOf, AHitIsThatOfTheLastAdmissionUpToTheStep) {
  EXPECT_EQ(hit_of({0}, 2), 8);
  EXPECT_EQ(hit_of({1}, 1), -1);
  EXPECT_EQ(hit_of({1}, 2), 0);
  EXPECT_EQ(hit_of({1}, 4), 16);
  EXPECT_EQ(hit_of({7}, 4), -1);
}

TEST_F(RequestLogOf, WhatIsForgottenHasNotHappened) {
  log_.forget_after(2);
  EXPECT_THAT(log_.unfinished(3), ElementsAre(RequestId{1}));
  EXPECT_THAT(log_.unfinished(4), ElementsAre(RequestId{1}));
  EXPECT_EQ(hit_of({1}, 4), 0);
  log_.forget_after(1);
  EXPECT_THAT(log_.unfinished(3), ElementsAre(RequestId{0}, RequestId{1}));
}

}  // namespace

}  // namespace hybridscope::live_run_test
