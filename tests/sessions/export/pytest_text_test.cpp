#include "sessions/export/pytest_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::pytest_text_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::pytest_text_test
