#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "sessions/export/python_run.h"
#include "sessions/export/runner_test_text.h"
#include "sessions/export/step_actions.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::python_run_test {
namespace {

TEST(PythonText, QuotesAndControlCharactersAreEscaped) {
  EXPECT_EQ(python_string("A"), R"("A")");
  EXPECT_EQ(python_string("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(python_string("\x01"), R"("\u0001")");
  EXPECT_EQ(python_string("ü"), "\"ü\"");
}

TEST(PythonText, WhatIsNoUtf8IsReplaced) { EXPECT_EQ(python_string("\xFF"), "\"\xEF\xBF\xBD\""); }

TEST(PythonText, ACommentStaysOnItsLine) {
  EXPECT_EQ(python_comment("two\nlines"), R"(two\nlines)");
}

TEST(PythonText, WhatIsExportedOfAShippedScenarioCompiles) {
  const test::TemporaryFolder folder;
  std::string files;
  const auto write = [&](const std::string& text) {
    const std::string file = folder / (std::to_string(files.size()) + ".py");
    std::ofstream(file) << text;
    files += " " + file;
  };
  for (const std::string& path : test::shipped_scenarios()) {
    Scenario scenario = read_scenario_file(path).value();
    scenario.settings.async_scheduling = false;
    scenario.settings.engine = EngineProfile::reference;
    const ExportedRun run = make_exported_run(scenario, path).value();
    std::vector<std::string> requests;
    for (const ExportedRequest& request : run.requests) requests.push_back(request.id);
    write(step_actions_text(run, requests));
    write(pytest_text(run).value());
  }
  EXPECT_EQ(std::system(("PYTHONDONTWRITEBYTECODE=1 python3 -c 'import ast, sys; "
                         "[ast.parse(open(f).read(), f) for f in sys.argv[1:]]'" +
                         files)
                            .c_str()),
            0);
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ExportedRun run_of(const std::string& name, EngineProfile engine = EngineProfile::reference) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
  Scenario scenario = read_scenario_file(file).value();
  scenario.settings.async_scheduling = false;
  scenario.settings.engine = engine;
  return make_exported_run(scenario, file).value();
}

// Prompt of 22, budget 8: 22 tokens are left and 8 fit, then 14 and 8, then 6.
TEST(PytestText, BudgetsOfEachStepAreFilledIn) {
  const ExportedRun run = run_of("chunked_prefill");
  std::vector<std::int32_t> wanted;
  for (const ExportedStep& step : run.steps) wanted.push_back(step.rows.at(0).num_wanted_tokens);
  EXPECT_THAT(wanted, ElementsAre(8, 8, 6, 1, 1, 1));
}

// A prompt of 18 in one step: 18 wanted, 16 after the split at the last boundary.
TEST(PytestText, WhatTheSplitLeavesStandsBesideWhatWasWanted) {
  const ExportedRow row = run_of("align_boundary_by_prefill").steps.at(0).rows.at(0);
  EXPECT_EQ(row.num_wanted_tokens, 18);
  EXPECT_EQ(row.num_scheduled_tokens, 16);
  const std::string text = pytest_text(run_of("align_boundary_by_prefill")).value();
  EXPECT_THAT(text, HasSubstr("\"wanted\": 18, \"scheduled\": 16, \"sampled\": 0, "));
}

// B shares 16 tokens with A, which left the state after them: attention has both blocks hashed, the
// recurrent group the second one (the first is null).
TEST(PytestText, HitsBlocksAndKeysAreFilledIn) {
  const ExportedRun run = run_of("align_boundary_by_prefill");
  for (const ExportedStep& step : run.steps)
    for (const ExportedRow& row : step.rows) {
      if (row.request != "B" || row.admission == Admission::running) continue;
      EXPECT_EQ(row.num_hit_tokens, 16);
      EXPECT_THAT(held_columns(row, 0), ElementsAre(1, 1, 1));
      EXPECT_THAT(held_columns(row, 1), ElementsAre(0, 1, 1));
      EXPECT_THAT(row.keys, ElementsAre(ElementsAre(8, 16, 0), ElementsAre(0, 16, 0)));
    }
  EXPECT_THAT(pytest_text(run).value(),
              HasSubstr("\"admitted\": True, \"placeholders\": False, "
                        "\"hit\": 16, \"uncached\": 0, \"computed\": 16,"));
}

// Equal tokens have equal numbers: B's prompt begins with 10 tokens of A's sequence.
// C shares 8 tokens, of which attention has the block and the recurrent group no state.
TEST(PytestText, WhatOneGroupHasAndAnotherLacksIsAPlaceToStopAt) {
  for (const ExportedStep& step : run_of("shared_prefix_align").steps)
    for (const ExportedRow& row : step.rows) {
      if (row.request != "C" || row.admission == Admission::running) continue;
      EXPECT_EQ(row.num_hit_tokens, 0);
      EXPECT_EQ(row.num_uncached_common_prefix_tokens, 8);
      EXPECT_EQ(row.num_wanted_tokens, 20);
      EXPECT_EQ(row.num_scheduled_tokens, 8);
    }
}

TEST(PytestText, TokensAreEqualWhereThePromptsShare) {
  const ExportedRun run = run_of("align_boundary_by_decode");
  const auto& a = run.requests.at(0).tokens;
  const auto& b = run.requests.at(1).tokens;
  ASSERT_EQ(a.size(), 12U);  // prompt of 6, 6 generated
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 10, b.begin()));
  EXPECT_NE(a[10], b[10]);
}

// A pool of five blocks of 8 tokens. In step 4 H needs its second pair; L, of lower priority, has
// two pairs and loses them for it.
TEST(PytestText, WhoIsPreemptedForARowStandsAtTheRow) {
  Scenario scenario;
  scenario.model = "tiny-mamba2";
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.block_size = 8;
  scenario.settings.num_gpu_blocks_override = 6;
  scenario.settings.max_model_len = 64;
  scenario.settings.async_scheduling = false;
  scenario.settings.scheduling_policy = SchedulingPolicy::priority;
  scenario.requests = {{.id = "L", .prompt = {.tokens = 14}, .max_tokens = 4, .priority = 5},
                       {.id = "H", .prompt = {.tokens = 8}, .max_tokens = 4, .at_step = 3}};
  const ExportedRun run = make_exported_run(scenario, "scenario").value();
  const ExportedStep& step = run.steps.at(3);
  EXPECT_EQ(step.step, 4);
  EXPECT_THAT(step.preempted, IsEmpty());
  EXPECT_THAT(step.preempted_last, IsEmpty());
  ASSERT_EQ(step.rows.size(), 1U);
  EXPECT_EQ(step.rows[0].request, "H");
  EXPECT_THAT(step.rows[0].preempts, ElementsAre("L"));
  EXPECT_THAT(pytest_text(run).value(), HasSubstr("{\"request\": \"H\", \"preempts\": [\"L\"], "));
}

// B is the last of the queue: it preempts itself, and no request gets its blocks in that step.
TEST(PytestText, WhoIsPreemptedForNobodyComesLast) {
  const ExportedRun run = run_of("preemption_and_resume");
  const ExportedStep& step = run.steps.at(8);
  EXPECT_EQ(step.step, 9);
  EXPECT_THAT(step.preempted_last, ElementsAre("B"));
  EXPECT_THAT(pytest_text(run).value(), HasSubstr("\"preempted_last\": [\"B\"],\n"));
}

// A ran, is preempted by the reset and admitted again in the same step.
TEST(PytestText, WhoAResetPreemptsIsPreemptedBeforeTheStep) {
  for (const ExportedStep& step : run_of("prefix_cache_reset").steps) {
    EXPECT_EQ(step.preempted.size(), step.reset_running_requests ? 1U : 0U) << step.step;
    for (const ExportedRow& row : step.rows) EXPECT_THAT(row.preempts, IsEmpty());
  }
}

// The scenario of the lesson on hits inside blocks, with hashes of 2 tokens in blocks of 8: A's
// prompt of 21 ends its second chunk at 20 tokens, and the third one leaves them to a copy.
ExportedRun hits_inside_blocks() {
  Scenario scenario;
  scenario.model = "tiny-gdn";
  scenario.settings.engine = parse_engine_profile("vllm-0.33.0").value();
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.block_size = 8;
  scenario.settings.prefix_match_unit = 2;
  scenario.settings.num_gpu_blocks_override = 32;
  scenario.settings.max_model_len = 64;
  scenario.settings.async_scheduling = false;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 21}, .max_tokens = 5}};
  return make_exported_run(scenario, "scenario").value();
}

TEST(PytestText, KeysInsideABlockAndCopiesOfBlocksAreFilledIn) {
  const ExportedRun run = hits_inside_blocks();
  const ExportedRow& tail = run.steps.at(1).rows.at(0);
  EXPECT_EQ(tail.num_scheduled_tokens, 4);
  EXPECT_THAT(tail.blocks,
              ElementsAre(ElementsAre(1, 2, 5), ElementsAre(0, 3, 6), ElementsAre(0, 4, 7)));
  EXPECT_THAT(tail.keys,
              ElementsAre(ElementsAre(8, 16, 20), ElementsAre(0, 16, 20), ElementsAre(0, 16, 20)));
  EXPECT_THAT(run.steps.at(1).block_copies, IsEmpty());
  ASSERT_EQ(run.steps.at(2).block_copies.size(), 2U);
  EXPECT_EQ(run.steps.at(2).block_copies[0].source_block, 6);
  EXPECT_EQ(run.steps.at(2).block_copies[0].block, 8);
  const std::string text = pytest_text(run).value();
  EXPECT_THAT(text, HasSubstr("\"hash_block_size\": 2,\n"));
  EXPECT_THAT(text, HasSubstr("\"stops_inside_blocks\": True,\n"));
  EXPECT_THAT(text, HasSubstr("\"block_copies\": [[6, 8], [7, 9]],\n"));
  EXPECT_THAT(text, HasSubstr("this is to pass on vLLM 0.33.0"));
}

// From 0.31.0 on the threshold cuts chunks only beside other requests. A prompt of 10 that is alone
// is split at 8.
TEST(PytestText, AThresholdLimitsOnlyWhereTheReleaseAppliesIt) {
  Scenario scenario;
  scenario.model = "tiny-gdn";
  scenario.settings.mamba_cache_mode = MambaCacheMode::align;
  scenario.settings.block_size = 4;
  scenario.settings.num_gpu_blocks_override = 32;
  scenario.settings.max_model_len = 24;
  scenario.settings.long_prefill_token_threshold = 5;
  scenario.settings.async_scheduling = false;
  scenario.requests = {{.id = "A", .prompt = {.tokens = 10}, .max_tokens = 2}};
  const auto first_row = [&](const char* profile) {
    scenario.settings.engine = parse_engine_profile(profile).value();
    return make_exported_run(scenario, "scenario").value().steps.at(0).rows.at(0);
  };
  EXPECT_EQ(first_row("vllm-0.30.0").num_wanted_tokens, 5);
  EXPECT_EQ(first_row("vllm-0.33.0").num_wanted_tokens, 10);
  EXPECT_EQ(first_row("vllm-0.33.0").num_scheduled_tokens, 8);
}

// Drafts in 0.33.0: nothing is dropped from a hit, a hash covers one token more, and blocks get
// their hashes when a step returns as well.
TEST(PytestText, WhatAReleaseAddedIsFilledIn) {
  const ExportedRun run =
      run_of("align_boundary_by_accepted_drafts", parse_engine_profile("vllm-0.33.0").value());
  const std::string text = pytest_text(run).value();
  EXPECT_THAT(text, HasSubstr("\"use_eagle\": True,\n    \"use_eagle_block_drop\": False,\n    "
                              "\"num_hash_lookahead_tokens\": 1,\n"));
  EXPECT_THAT(text, HasSubstr("\"prefix_cache_retention_interval\": 0,\n"));
  const ExportedRow& second = run.steps.at(1).rows.at(0);
  EXPECT_EQ(second.num_computed_tokens, 6);
  EXPECT_EQ(second.num_registered_tokens, 8);  // a draft and the bonus token
}

TEST(PytestText, SaysWhetherItIsToPass) {
  EXPECT_THAT(pytest_text(run_of("plain_decode")).value(), HasSubstr("this is to pass"));
  EXPECT_THAT(pytest_text(run_of("plain_decode", EngineProfile::safe)).value(),
              HasSubstr("this is to fail"));
  EXPECT_THAT(
      pytest_text(run_of("plain_decode", parse_engine_profile("vllm@2026-06-29").value())).value(),
      HasSubstr("this is to pass"));
}

// Profile reference has known bug 48, which loses C's accepted count.
TEST(PytestText, SaysWhichFaultsItDoesNotRun) {
  const std::string text = pytest_text(run_of("starved_request")).value();
  EXPECT_THAT(text, HasSubstr("#\n# The fault behind running-state-wrong of C (step 4, 6 in all), "
                              "label-mismatch of C (step 6) lies in\n# the input batch "));
  EXPECT_THAT(text, HasSubstr("known bug 48), which this\n# test does not run"));
  EXPECT_THAT(pytest_text(run_of("starved_request", EngineProfile::safe)).value(),
              Not(HasSubstr("The fault behind")));
}

TEST(PytestText, AnAsynchronousRunIsRefused) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/plain_decode.json";
  const auto refused =
      pytest_text(make_exported_run(read_scenario_file(file).value(), file).value());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("--no-async-scheduling"));
}

Scenario scenario_of(const std::string& name) {
  Scenario scenario =
      read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
          .value();
  scenario.settings.async_scheduling = false;
  return scenario;
}

ExportedRun sync_run_of(const std::string& name, EngineProfile engine = EngineProfile::safe) {
  Scenario scenario = scenario_of(name);
  scenario.settings.engine = engine;
  return make_exported_run(scenario, name).value();
}

// Drafts of one token, blocks of 8. Step 2 computes tokens 6 and 7; both count, so that the state
// after 8 tokens, which is that of the second column, goes to the first one.
TEST(RunnerTestText, CopiesNameBlocksAndTheAcceptedTokensBetween) {
  const ExportedRun run = sync_run_of("align_boundary_by_accepted_drafts");
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
  const ExportedRun run = sync_run_of("starved_request");
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
  const ExportedRun run = sync_run_of("align_boundary_by_decode");
  std::vector<std::size_t> told;
  for (const RunnerStep& step : run.runner_steps)
    for (const RunnerRequest& request : step.scheduled)
      if (request.request == "A") told.push_back(request.new_blocks.at(0).size());
  EXPECT_THAT(told, ElementsAre(1, 0, 0, 1, 0, 0));
}

TEST(RunnerTestText, WhatEndsIsToldWithTheNextStep) {
  const ExportedRun run = sync_run_of("align_boundary_by_decode");
  EXPECT_THAT(run.runner_steps.at(0).finished, IsEmpty());
  EXPECT_THAT(run.runner_steps.at(6).finished, ElementsAre("A"));
}

TEST(RunnerTestText, ALiteralStepIsWrittenOut) {
  const std::string text = runner_test_text(sync_run_of("align_boundary_by_decode")).value();
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
  const auto all = runner_test_text(sync_run_of("shared_prefix_all"));
  ASSERT_FALSE(all.ok());
  EXPECT_THAT(all.error().message, HasSubstr("mamba_cache_mode is all"));
}

}  // namespace

}  // namespace hybridscope::python_run_test
