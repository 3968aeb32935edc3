#include "sessions/export/runner_test_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::runner_test_text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Scenario scenario_of(const std::string& name) {
  Scenario scenario =
      read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
          .value();
  scenario.settings.async_scheduling = false;
  return scenario;
}

ExportedRun run_of(const std::string& name, EngineProfile engine = EngineProfile::safe) {
  Scenario scenario = scenario_of(name);
  scenario.settings.engine = engine;
  return make_exported_run(scenario, name).value();
}

// Drafts of one token, blocks of 8. Step 2 computes tokens 6 and 7; both count, so that the state
// after 8 tokens, which is that of the second column, goes to the first one.
TEST(RunnerTestText, CopiesNameBlocksAndTheAcceptedTokensBetween) {
  const ExportedRun run = run_of("align_boundary_by_accepted_drafts");
  const RunnerStep& step = run.runner_steps.at(1);
  EXPECT_THAT(step.pre_copies, IsEmpty());
  ASSERT_EQ(step.post_copies.size(), 1U);
  const RunnerRow& row = step.rows.at(0);
  EXPECT_EQ(row.tables.at(1).at(0), step.post_copies[0].dst_block);
  EXPECT_EQ(row.tables.at(1).at(1), step.post_copies[0].temporal_src_block);
  EXPECT_EQ(step.post_copies[0].accept_token_bias, 1);
}

// In step 3 the budget leaves C out; it comes back in step 4 with the count of step 2.
TEST(RunnerTestText, ARowThatComesBackKeepsItsCountInProfileSafe) {
  const ExportedRun run = run_of("starved_request");
  const RunnerStep& left_out = run.runner_steps.at(2);
  ASSERT_EQ(left_out.rows.size(), 1U);
  EXPECT_EQ(left_out.rows[0].request, "A");
  const RunnerRow& row = run.runner_steps.at(3).rows.at(1);
  EXPECT_EQ(row.request, "C");
  EXPECT_EQ(row.num_accepted_tokens_before, 2);
  EXPECT_FALSE(row.is_wrong);
}

TEST(RunnerTestText, InTheReleaseItForgetsTheCountAndReadsAnotherState) {
  Scenario scenario = scenario_of("starved_request");
  scenario.settings.engine = parse_engine_profile("vllm-0.33.0").value();
  scenario.settings.runner = ModelRunner::v1;
  const ExportedRun run = make_exported_run(scenario, "s").value();
  const RunnerRow& row = run.runner_steps.at(3).rows.at(1);
  EXPECT_EQ(row.num_accepted_tokens_before, 1);
  EXPECT_TRUE(row.is_wrong);
  const std::string text = runner_test_text(run).value();
  EXPECT_THAT(text, HasSubstr("\"accepted\": 1, \"reads_right\": False, "));
  EXPECT_THAT(text, HasSubstr("this is to pass on vLLM 0.33.0"));
}

// Only blocks that the runner does not know are told: the first admission tells all of them.
TEST(RunnerTestText, ARunningRequestIsToldItsNewBlocksOnly) {
  const ExportedRun run = run_of("align_boundary_by_decode");
  std::vector<std::size_t> told;
  for (const RunnerStep& step : run.runner_steps)
    for (const RunnerRequest& request : step.scheduled)
      if (request.request == "A") told.push_back(request.new_blocks.at(0).size());
  EXPECT_THAT(told, ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(RunnerTestText, WhatEndsIsToldWithTheNextStep) {
  const ExportedRun run = run_of("align_boundary_by_decode");
  EXPECT_THAT(run.runner_steps.at(0).finished, IsEmpty());
  EXPECT_THAT(run.runner_steps.at(6).finished, ElementsAre("A"));
}

TEST(RunnerTestText, ALiteralStepIsWrittenOut) {
  const std::string text = runner_test_text(run_of("align_boundary_by_decode")).value();
  EXPECT_THAT(
      text,
      HasSubstr(
          "    {\"step\": 1, \"finished\": [], \"preempted\": [], \"block_copies\": [],\n"
          "     \"scheduled\": [\n"
          "         {\"request\": \"A\", \"admission\": \"new\", \"computed\": 0, \"outputs\": 0, "
          "\"tokens\": 6,\n"
          "          \"drafts\": 0, \"placeholders\": False, \"new_blocks\": [[1], [2]]},\n"
          "     ],\n"
          "     \"rows\": [\n"
          "         {\"request\": \"A\", \"computed\": 0, \"decode\": False, \"column\": 0, "
          "\"accepted_before\": 1,\n"
          "          \"accepted\": 1, \"reads_right\": True, \"checkpoint\": None, \"sampled\": "
          "1,\n"
          "          \"verifies\": -1, \"tables\": [[1], [2]]},\n"
          "     ],\n"
          "     \"pre_copies\": [], \"post_copies\": []},\n"));
}

TEST(RunnerTestText, WhatCannotBeExportedIsRefused) {
  Scenario v2 = scenario_of("plain_decode");
  v2.settings.runner = ModelRunner::v2;
  const auto refused = runner_test_text(make_exported_run(v2, "s").value());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("(expected --runner v1)"));
  const auto all = runner_test_text(run_of("shared_prefix_all"));
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("mamba_cache_mode is all"));
}

}  // namespace
}  // namespace hybridscope::runner_test_text_test
