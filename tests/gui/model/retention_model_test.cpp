#include "gui/model/retention_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include "gui/model/live_run.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::retention_model_test {
namespace {

using testing::ElementsAre;

// Blocks of 8. A has a prompt of 30 tokens; C, in step 6, shares 18 of them and has 30 too.
RunPlan plan_with(const std::string& interval) {
  return test::plan_of_text(fmt::format(R"({{
    "version": 1, "name": "retention", "model": "tiny-mamba2",
    "settings": {{"engine": "vllm-0.30.0", "mamba_cache_mode": "align", "block_size": 8,
      "num_gpu_blocks_override": 40, "max_model_len": 64, "async_scheduling": false{}}},
    "requests": [
      {{"id": "A", "prompt": 30, "max_tokens": 3}},
      {{"id": "C", "prompt": {{"tokens": 30, "share": "A", "share_tokens": 18}}, "max_tokens": 3,
       "at_step": 6}}]}})",
                                        interval));
}

std::unique_ptr<LiveRun> run_at(const std::string& interval, std::int64_t step) {
  auto run = LiveRun::create(plan_with(interval)).value();
  EXPECT_TRUE(run->go_to(step).ok());
  return run;
}

std::vector<std::string> lines(const RetentionModel& model) {
  std::vector<std::string> lines;
  for (const PromptBoundary& boundary : model.boundaries)
    lines.push_back(fmt::format("{} {}: {}", boundary.num_tokens,
                                boundary.kept ? "kept" : "dropped", boundary.why));
  return lines;
}

TEST(RetentionModel, Interval0KeepsTheEndOfThePrompt) {
  const auto run = run_at("", 1);
  const auto model = make_retention_model(*run, run->find_request("A"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words, "Retention interval 0 keeps only the end of the prompt, 24.");
  EXPECT_EQ(model->num_prompt_tokens, 30);
  EXPECT_THAT(
      lines(*model),
      ElementsAre("8 dropped: interval 0 keeps no state but those where a known hit can end",
                  "16 dropped: interval 0 keeps no state but those where a known hit can end",
                  "24 kept: the end of the prompt"));
  EXPECT_EQ(model->dropped,
            "Dropped: 8, 16: interval 0 keeps no state but those where a known hit can end.");
}

// C finds A's attention blocks up to 16 tokens and no state there: others share that prefix.
TEST(RetentionModel, AJunctionIsKeptToo) {
  const auto run = run_at("", 6);
  const auto model = make_retention_model(*run, run->find_request("C"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words,
            "Retention interval 0 keeps only the end of the prompt, 24, and the junction at 16.");
  EXPECT_THAT(
      lines(*model),
      ElementsAre("8 dropped: interval 0 keeps no state but those where a known hit can end",
                  "16 kept: the junction", "24 kept: the end of the prompt"));
}

TEST(RetentionModel, AnIntervalKeepsItsMultiples) {
  const auto run = run_at(R"(, "prefix_cache_retention_interval": 16)", 1);
  const auto model = make_retention_model(*run, run->find_request("A"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words,
            "Retention interval 16 keeps only multiples of 16 and the end of the prompt, 24.");
  EXPECT_THAT(lines(*model),
              ElementsAre("8 dropped: no multiple of 16, and no other boundary that is kept",
                          "16 kept: a multiple of 16", "24 kept: the end of the prompt"));
}

TEST(RetentionModel, WithoutAnIntervalEveryStateIsKept) {
  const auto run = test::scenario_at("shared_prefix_align", 3);
  const auto model = make_retention_model(*run, run->find_request("B"));
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->words, "No retention interval is set: every state is kept.");
  EXPECT_THAT(lines(*model),
              ElementsAre("8 kept: every state is kept", "16 kept: every state is kept"));
  EXPECT_EQ(model->dropped, "");
}

TEST(RetentionModel, NothingIsSaidOfARequestThatWasNotAdmitted) {
  const auto run = run_at("", 6);
  EXPECT_TRUE(make_retention_model(*run, run->find_request("C")).has_value());
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_FALSE(make_retention_model(*run, run->find_request("C")).has_value());
  EXPECT_FALSE(make_retention_model(*run, RequestId{}).has_value());
}

}  // namespace
}  // namespace hybridscope::retention_model_test
