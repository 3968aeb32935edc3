// The warning about requests that wait for a block's worth of budget, in both outputs of `run`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace hybridscope::test::starvation_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// A decodes for 40 steps and takes one of the 8 tokens; P's first block has 8.
TEST(Starvation, AStarvedRequestIsAWarningWithTheBudgetThatEndsIt) {
  const std::string path = temporary_file("starved.json", R"({
    "version": 1, "name": "starved", "teaches": "t", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                 "max_model_len": 64, "max_num_batched_tokens": 8, "async_scheduling": false},
    "requests": [
      {"id": "A", "prompt": 7, "max_tokens": 41}, {"id": "P", "prompt": 20, "max_tokens": 2}]})");
  const ProgramResult text = run_program("run '" + path + "'");
  EXPECT_EQ(text.exit_code, 0);  // also with --strict: it is no finding
  EXPECT_EQ(run_program("run --strict '" + path + "'").exit_code, 0);
  EXPECT_THAT(text.out,
              HasSubstr("warning: P got no token in 41 steps (1 to 41): what was left of "
                        "max_num_batched_tokens 8, at most 7 tokens, reached no end of a block of "
                        "8; with max_num_batched_tokens 9 no request waits so\n"));
  const auto json = nlohmann::json::parse(run_program("run --json '" + path + "'").out);
  EXPECT_EQ(json.at("starvation").at("requests").at(0).at("request"), "P");
  EXPECT_EQ(json.at("starvation").at("requests").at(0).at("num_steps"), 41);
  EXPECT_EQ(json.at("starvation").at("max_num_batched_tokens"), 9);
  EXPECT_THAT(run_program("run '" + path + "' --max-num-batched-tokens 9").out,
              Not(HasSubstr("warning:")));
}

// Block 64 of a budget of 64: a prompt waits as long as anybody decodes.
TEST(Starvation, OfTrafficTheRequestThatWaitedLongestIsNamedAndTheOthersCounted) {
  const std::string run =
      "run --traffic synthetic --model tiny-mamba2 --mode align --block-size 64 --num-blocks 4000 "
      "--max-num-batched-tokens 64 --max-num-seqs 16 --limit 12 --no-async-scheduling --no-timings";
  const auto starvation = nlohmann::json::parse(run_program(run + " --json").out).at("starvation");
  const auto& requests = starvation.at("requests");
  ASSERT_GT(requests.size(), 1U);
  EXPECT_GE(requests.at(0).at("num_steps"), requests.at(1).at("num_steps"));
  EXPECT_LT(requests.at(0).at("most_tokens_left"), 64);
  const std::string text = run_program(run).out;
  EXPECT_THAT(text, HasSubstr("warning: " + requests.at(0).at("request").get<std::string>() +
                              " got no token in "));
  EXPECT_THAT(text, HasSubstr(std::to_string(requests.size() - 1) + " other request"));
  const std::int64_t budget = starvation.at("max_num_batched_tokens");
  EXPECT_THAT(run_program(run + " --max-num-batched-tokens " + std::to_string(budget)).out,
              Not(HasSubstr("warning:")));
}

}  // namespace
}  // namespace hybridscope::test::starvation_test
