#include "sessions/run/starved_requests.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::starved_requests_test {
namespace {

// Three requests decode with two drafts each, which takes 9 of the 16 tokens of a step: 7 are left,
// and A's first block has 8. Of each request's drafts none is accepted.
RunPlan plan_of(int max_num_batched_tokens, int decode_tokens, const std::string& script = "") {
  const std::string text = fmt::format(
      R"({{"version": 1, "name": "n", "teaches": "t", "model": "tiny-mamba2",
          "settings": {{"mamba_cache_mode": "align", "block_size": 8, "max_model_len": 128,
                       "num_gpu_blocks_override": 128, "max_num_batched_tokens": {},
                       "async_scheduling": false, "acceptance_rate": 0,
                       "speculative_config": {{"method": "mtp", "num_speculative_tokens": 2}}}},
          "requests": [{{"id": "D1", "prompt": 5, "max_tokens": {}}},
                       {{"id": "D2", "prompt": 5, "max_tokens": {}}},
                       {{"id": "D3", "prompt": 5, "max_tokens": {}}},
                       {{"id": "A", "prompt": 30, "max_tokens": 2, "at_step": 3}}]{}}})",
      max_num_batched_tokens, decode_tokens, decode_tokens, decode_tokens, script);
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

std::optional<Starvation> starvation_of(const RunPlan& plan, std::int64_t max_rows = 100'000) {
  CheckedRun run = CheckedRun::create(plan).value();
  StarvationWatch watch(run.engine().config());
  while (!run.has_ended()) watch.add(run.step().value().trace);
  return find_starvation(run.plan(), watch, make_names(run.engine()), max_rows);
}

TEST(StarvedRequests, ARequestThatWaitsForABlocksWorthOfBudgetIsNamedWithWhatEndsIt) {
  const RunPlan plan = plan_of(16, 56);
  const auto starvation = starvation_of(plan);
  ASSERT_TRUE(starvation.has_value());
  ASSERT_EQ(starvation->requests.size(), 1U);
  EXPECT_EQ(starvation->requests[0].name, "A");
  EXPECT_EQ(starvation->requests[0].waited.num_steps, 54);
  EXPECT_EQ(starvation->requests[0].waited.most_tokens_left, 7);
  EXPECT_EQ(starvation->max_num_batched_tokens, 17);
  EXPECT_EQ(starvation->words(plan.setup.config),
            "A got no token in 54 steps (3 to 56): what was left of max_num_batched_tokens 16, at "
            "most 7 tokens, reached no end of a block of 8; with max_num_batched_tokens 17 no "
            "request waits so");
}

TEST(StarvedRequests, WithThatBudgetNobodyStarvesAndWithOneTokenLessSomebodyDoes) {
  EXPECT_FALSE(starvation_of(plan_of(17, 56)).has_value());
  EXPECT_TRUE(starvation_of(plan_of(16, 56)).has_value());
}

TEST(StarvedRequests, AFewStepsAreAWaitForOnesTurn) {
  EXPECT_FALSE(starvation_of(plan_of(16, 9)).has_value());  // 7 steps
  EXPECT_TRUE(starvation_of(plan_of(16, 10)).has_value());  // 8 steps
}

TEST(StarvedRequests, ABudgetThatIsSetForAStepIsNotTheEngines) {
  std::string script = R"(, "script": [)";
  for (int step = 3; step <= 60; ++step)
    script += fmt::format(R"({}{{"step": {}, "budget": 16}})", step == 3 ? "" : ", ", step);
  EXPECT_FALSE(starvation_of(plan_of(64, 56, script + "]")).has_value());
}

TEST(StarvedRequests, NoSettingIsNamedThatWasNotTried) {
  const RunPlan plan = plan_of(16, 56);
  const auto starvation = starvation_of(plan, 0);
  ASSERT_TRUE(starvation.has_value());
  EXPECT_FALSE(starvation->max_num_batched_tokens.has_value());
  EXPECT_TRUE(starvation->words(plan.setup.config).ends_with("reached no end of a block of 8"));
  EXPECT_FALSE(starvation_of(plan, 20)->max_num_batched_tokens.has_value());
}

}  // namespace
}  // namespace hybridscope::starved_requests_test
