#include "sessions/diff/collected_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/sessions/diff/live_pair.h"

namespace hybridscope::collected_diff_test {
namespace {

using test::live_source;
using test::scenario_of;
using test::shipped_scenario;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

// Keeps what the words in a CollectedDiff refer to.
struct Collected {
  std::unique_ptr<LiveSource> a;
  std::unique_ptr<LiveSource> b;
  std::unique_ptr<SessionDiff> diff;
  CollectedDiff collected;
};

Collected collect(const Scenario& a, const Scenario& b, const CollectOptions& options = {}) {
  Collected all{.a = live_source(a), .b = live_source(b), .diff = nullptr, .collected = {}};
  all.diff = std::make_unique<SessionDiff>(*all.a, *all.b, IgnoreRules());
  all.collected = collect_diff(*all.diff, *all.a, *all.b, options).value();
  return all;
}

const DecisionPair* find_pair(const CollectedDiff& collected, const std::string& request,
                              const std::string& subject) {
  for (const DecisionPair& pair : collected.decisions)
    if (pair.request == request && pair.subject == subject) return &pair;
  return nullptr;
}

TEST(CollectedDiff, CopyDecisionsOfBothSidesAreExplainedWithTheirNumbers) {
  const Scenario accepted = shipped_scenario("align_boundary_by_accepted_drafts");
  Scenario rejected = accepted;
  rejected.script.front().accept.front().count = 1;
  const Collected all = collect(accepted, rejected);
  const DecisionPair* copy = find_pair(all.collected, "A", "post-copy");
  ASSERT_NE(copy, nullptr);
  EXPECT_EQ(copy->source, "vLLM v1/worker/mamba_utils.py postprocess_mamba_fused_kernel");
  EXPECT_THAT(copy->a, HasSubstr("new = running + a - 1 = 7 + 2 - 1 = 8; aligned = floor(8 / 8) * "
                                 "8 = 8 >= running 7"));
  EXPECT_THAT(copy->b, HasSubstr("new = running + a - 1 = 7 + 1 - 1 = 7; aligned = floor(7 / 8) * "
                                 "8 = 0 < running 7: no block boundary was reached"));
  const DecisionPair* row = find_pair(all.collected, "A", "row");
  ASSERT_NE(row, nullptr);
  EXPECT_THAT(row->a, HasSubstr("samples a = 2, as a command says"));
  EXPECT_THAT(row->b, HasSubstr("samples a = 1, as a command says"));
}

TEST(CollectedDiff, ASkippedRequestHasItsReasonBesideWhatTheOtherGot) {
  const std::string settings = R"({"version": 1, "name": "two", "model": "tiny-mamba2",
      "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                   "max_model_len": 64, "async_scheduling": false},
      "requests": [{"id": "A", "prompt": 8, "max_tokens": 3},
                   {"id": "B", "prompt": 8, "max_tokens": 3}])";
  const Collected all =
      collect(scenario_of(settings + "}"),
              scenario_of(settings + R"(, "script": [{"step": 1, "budget": 8}]})"));
  ASSERT_FALSE(all.collected.steps.empty());
  EXPECT_EQ(all.collected.steps.front().step, 1);
  const DecisionPair* schedule = find_pair(all.collected, "B", "schedule");
  ASSERT_NE(schedule, nullptr);
  EXPECT_THAT(schedule->a, StartsWith("new: 8 tokens (0 of 0 drafts) behind c = 0 of 8 known"));
  EXPECT_EQ(schedule->b, "not considered in this step");
  EXPECT_EQ(schedule->source, "vLLM v1/core/sched/scheduler.py schedule");
  const DecisionPair* command = find_pair(all.collected, "", "command");
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(command->b, "set_step_budget 8");
}

TEST(CollectedDiff, CommandsWithoutAValueAreToldWithoutOne) {
  Scenario aborts = shipped_scenario("align_boundary_by_accepted_drafts");
  const Scenario plain = aborts;
  ScriptStep abort{.step = 3};
  abort.abort = {"A"};
  aborts.script.push_back(abort);
  const Collected all = collect(plain, aborts);
  const DecisionPair* command = find_pair(all.collected, "A", "command");
  ASSERT_NE(command, nullptr);
  EXPECT_EQ(command->a, "no command");
  EXPECT_EQ(command->b, "abort");
}

TEST(CollectedDiff, FindingsOfOneSideAreTold) {
  const Scenario safe = shipped_scenario("prompt_as_long_as_a_verify_window");
  Scenario reference = safe;
  reference.settings.engine = EngineProfile::reference;
  const Collected all = collect(safe, reference);
  EXPECT_THAT(all.collected.findings_a, IsEmpty());
  EXPECT_THAT(all.collected.findings_b,
              ElementsAre(StartsWith("stale-persistent-array: step 1 group 1 (gdn_attention)"),
                          StartsWith("stale-persistent-array: step 1 group 2 (gdn_attention)")));
  const DecisionPair* graph = find_pair(all.collected, "", "graph dispatch");
  ASSERT_NE(graph, nullptr);
  EXPECT_THAT(graph->a, HasSubstr("not a uniform decode; runtime mode PIECEWISE"));
  EXPECT_THAT(graph->b, HasSubstr("a uniform decode (1 + K = 3 tokens a row); runtime mode FULL"));
}

// A record of one step with findings about these blocks, and the fields in which two differ.
StepRecord with_label_findings(const std::vector<std::int32_t>& blocks) {
  StepRecord record;
  record.trace.step = 1;
  for (const std::int32_t block : blocks)
    record.findings.push_back({.rule = Rule::label_mismatch,
                               .step = 1,
                               .group = 0,
                               .block = block,
                               .expected = 8,
                               .seen = 7,
                               .cause = {}});
  return record;
}

StepDifference difference_of(const StepRecord& a, const StepRecord& b, const StepSource& source) {
  RequestNumbers names(source, source);
  const IgnoreRules rules;
  StepDifference difference{.step = 1, .fields = {}, .a = &a, .b = &b};
  SectionMask sections{};
  sections.fill(true);
  RecordComparer(names, rules, RecordLevel::full).compare(a, b, sections, difference.fields);
  return difference;
}

TEST(FindingsOfOneSide, LeaveOutWhatBothSidesFound) {
  const auto source = live_source(shipped_scenario("align_boundary_by_accepted_drafts"));
  const StepRecord a = with_label_findings({1, 2});
  const StepRecord b = with_label_findings({2});
  const StepDifference difference = difference_of(a, b, *source);
  EXPECT_EQ(difference.fields.size(), 1U);
  EXPECT_THAT(findings_of_one_side(difference, *source, 0), ElementsAre(HasSubstr("block 1 ")));
  EXPECT_THAT(findings_of_one_side(difference, *source, 1), IsEmpty());
}

TEST(FindingsOfOneSide, StayOneFindingWhereOnlyTheBlockIdDiffers) {
  const auto source = live_source(shipped_scenario("align_boundary_by_accepted_drafts"));
  const StepRecord a = with_label_findings({3});
  const StepRecord b = with_label_findings({5});
  const StepDifference difference = difference_of(a, b, *source);
  ASSERT_EQ(difference.fields.size(), 1U);
  EXPECT_EQ(difference.fields[0].field, "block");
  EXPECT_EQ(difference.fields[0].section, DiffSection::blocks);
}

TEST(FindingsOfOneSide, AreCountedBehindTheFirstTwenty) {
  const auto source = live_source(shipped_scenario("align_boundary_by_accepted_drafts"));
  std::vector<std::int32_t> blocks(25);
  std::iota(blocks.begin(), blocks.end(), 1);
  const StepRecord a = with_label_findings(blocks);
  const StepRecord b = with_label_findings({});
  const auto texts = findings_of_one_side(difference_of(a, b, *source), *source, 0);
  ASSERT_EQ(texts.size(), 21U);
  EXPECT_THAT(texts[19], HasSubstr("block 20 "));
  EXPECT_EQ(texts[20], "and 5 more");
}

TEST(CollectedDiff, KeepsTheFirstStepsAndCountsAll) {
  const Scenario safe = shipped_scenario("prompt_as_long_as_a_verify_window");
  Scenario reference = safe;
  reference.settings.engine = EngineProfile::reference;
  const Collected one = collect(safe, reference, {.limit = 1});
  ASSERT_EQ(one.collected.steps.size(), 1U);
  EXPECT_EQ(one.collected.steps.front().fields.front().field, "graph.runtime_mode");
  EXPECT_EQ(one.diff->summary().num_differences, 2);
  const Collected first = collect(safe, reference, {.first_only = true});
  EXPECT_FALSE(first.collected.complete);
  EXPECT_EQ(first.diff->summary().num_differences, 1);
}

}  // namespace
}  // namespace hybridscope::collected_diff_test
