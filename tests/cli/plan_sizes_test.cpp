#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::plan_sizes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kExample =
    "plan --model qwen3-next-80b-a3b --kv-memory 40GiB --prompt 8000 --output 500 --shared 6000";

// The text in docs/plan.md between the marks, without the fence.
std::string documented_example() {
  const std::string page = read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/plan.md");
  const std::string begin = "<!-- plan qwen3-next-80b-a3b -->\n```\n";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("```\n<!-- /plan -->") - at);
}

TEST(PlanSizes, TheExampleOfItsPageIsWhatItPrints) {
  const ProgramResult run = run_program(kExample);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, documented_example());
}

TEST(PlanSizes, JsonHasTheSameFacts) {
  const auto json = nlohmann::json::parse(run_program(std::string(kExample) + " --json").out);
  EXPECT_EQ(json["block"]["size"], 544);
  EXPECT_EQ(json["requests"][0]["at_once"], 145);
  EXPECT_EQ(json["limits"][0]["binds"], true);
}

TEST(PlanSizes, AnswersAPastedLineWithOne) {
  const ProgramResult run = run_program(
      "plan --from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --port 80 --max-num-seqs "
      "1024' --engine vllm-0.24.0 --kv-memory 5GiB --prompt 500 --output 20");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("not modelled, and left as it is: --port 80"));
  EXPECT_THAT(run.out, HasSubstr("max_num_seqs (1024) exceeds available Mamba cache blocks (401)"));
  EXPECT_THAT(run.out, HasSubstr("--max-num-seqs 401 in place of 1024"));
  EXPECT_THAT(run.out, HasSubstr("\nvllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --port 80 "
                                 "--max-num-seqs 401"));
}

TEST(PlanSizes, SaysWhatBecameOfTheCacheMode) {
  EXPECT_THAT(run_program("plan --model qwen3-next-80b-a3b --mode all").err,
              HasSubstr("note: qwen3-next-80b-a3b has no mode all: it runs in align\n"));
  EXPECT_THAT(run_program("plan --model bamba-9b --mode align --no-enable-prefix-caching").err,
              HasSubstr("note: prefix caching is off: mode none instead of align\n"));
  EXPECT_THAT(run_program("plan --model tiny-gdn --traffic synthetic --limit 3 --block-size 8 "
                          "--sweep mamba_cache_mode=align,all")
                  .err,
              HasSubstr("note: tiny-gdn has no mode all: it runs in align\n"));
}

// 262,144 tokens are 482 blocks of 544 tokens; each of three groups of states takes 2 more.
TEST(PlanSizes, SuggestsNothingWithWhichTheReleaseDoesNotStart) {
  const std::string plan =
      "plan --model qwen3-next-80b-a3b --prompt 500 --output 20 --engine vllm-0.33.0 --num-blocks ";
  const ProgramResult small = run_program(plan + "488");
  EXPECT_THAT(small.err, HasSubstr("note: vllm-0.33.0 does not start: its pool must hold the 488 "
                                   "blocks of a request of 262144 tokens and has 487, without the "
                                   "null block\n"));
  EXPECT_EQ(small.out.find("max_num_seqs 4"), std::string::npos) << small.out;
  EXPECT_EQ(run_program(plan + "489").err.find("does not start"), std::string::npos);
}

TEST(PlanSizes, HasTheStartUpLogOfTheRelease) {
  const ProgramResult run = run_program(
      "plan --model qwen3-next-80b-a3b --kv-memory 40GiB --mamba-cache-mode align --prompt 10 "
      "--startup-log --engine vllm-0.33.0 --json");
  EXPECT_THAT(nlohmann::json::parse(run.out)["startup_log"],
              ElementsAre("Setting attention block size to 544 tokens to ensure that attention "
                          "page size is >= mamba page size.",
                          "Padding mamba page size by 1.49% to ensure that mamba page size and "
                          "attention page size are exactly equal.",
                          "GPU KV cache size: 1,725,423 tokens, Maximum concurrency for 262,144 "
                          "tokens per request: 6.58x"));
}

// vLLM takes no share of the GPU where the cache's memory is given.
TEST(PlanSizes, ALineMayHaveTheShareOfTheGpuBesideTheMemoryOfTheCache) {
  const auto run = run_program(
      "plan --from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --gpu-memory-utilization "
      "0.9' --kv-memory 30GiB");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2,409 blocks in 30GiB"));
}

TEST(PlanSizes, WrongUseIsExitCode2) {
  EXPECT_EQ(run_program("plan").exit_code, 2);
  EXPECT_THAT(run_program("plan").err, HasSubstr("name a model"));
  EXPECT_THAT(run_program("plan --model tiny-gdn --output 3").err, HasSubstr("need --prompt"));
  EXPECT_THAT(run_program("plan --model tiny-gdn --prompt 3 --shared 4").err,
              HasSubstr("--shared is 4, more than the 3 tokens"));
  EXPECT_THAT(run_program("plan --model no-model").err, HasSubstr("no model preset"));
  EXPECT_THAT(run_program("plan --from-serve 'vllm serve Qwen/Qwen3-8B'").err,
              HasSubstr("give its file with --model config.json"));
  EXPECT_EQ(run_program("plan --model tiny-gdn --prompt 300000").exit_code, 2);
  EXPECT_EQ(run_program("plan --model no/such/config.json").exit_code, 3);
}

}  // namespace
}  // namespace hybridscope::test::plan_sizes_test
