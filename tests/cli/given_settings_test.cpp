// Settings of the command line, and whose fault it is where a run is not possible with them.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::given_settings_test {
namespace {

using testing::HasSubstr;

// Three ranks cannot share the layers of the default model, nor those of tiny-mamba2.
TEST(Settings, OfTheCommandLineThatTheModelOrTheScenarioDoesNotAllowAreWrongUsage) {
  const std::string scenario = "scenarios/plain_decode.json";
  for (const std::string& command :
       {"run " + scenario + " --tp 3", "run --twin " + scenario + " --tp 3",
        std::string("run --traffic synthetic --tp 3"), "explain-cache " + scenario + " --tp 3",
        "export " + scenario + " --as markdown --tp 3", "shrink " + scenario + " --tp 3",
        "gui " + scenario + " --tp 3", std::string("model qwen3-next-80b-a3b --tp 3"),
        "diff --scenario " + scenario + " --b tp=3"}) {
    const ProgramResult refused = run_program(command);
    EXPECT_EQ(refused.exit_code, 2) << command;
    EXPECT_THAT(refused.err, HasSubstr("is not divisible by the tensor parallel size 3"))
        << command;
  }
  const ProgramResult pool = run_program("run " + scenario + " --num-blocks 2");
  EXPECT_EQ(pool.exit_code, 2);
  EXPECT_THAT(pool.err, HasSubstr("it can need 4 blocks at 10 tokens, the pool has 1"));
  EXPECT_EQ(run_program("diff --scenario " + scenario +
                        " --b async_scheduling=true --b speculative_config/method=ngram")
                .exit_code,
            2);
}

TEST(Settings, OfAFileThatTheModelDoesNotAllowAreInvalidInput) {
  auto scenario =
      nlohmann::json::parse(read_file(HYBRIDSCOPE_SOURCE_DIR "/scenarios/plain_decode.json"));
  scenario["settings"]["tensor_parallel_size"] = 3;
  const std::string file = temporary_file("three_ranks.json", scenario.dump());
  EXPECT_EQ(run_program("run " + file).exit_code, 3);
  EXPECT_EQ(run_program("run " + file + " --max-num-seqs 4").exit_code, 3);
  EXPECT_EQ(run_program("run " + file + " --tp 1").exit_code, 0);
}

// Another scenario of the suite may allow them.
TEST(Settings, OfTheCommandLineThatAScenarioOfASuiteDoesNotAllowAreItsResult) {
  const ProgramResult suite =
      run_program("run scenarios/plain_decode.json scenarios/mixed_gdn_batch.json --tp 3");
  EXPECT_EQ(suite.exit_code, 3);
  EXPECT_THAT(suite.out, HasSubstr("2 scenarios: 2 invalid"));
}

// 64 blocks of attention and 5 states are 69, of which the pool gives out 68: the prompt is
// computed up to 992 tokens, then the request preempts itself for a block and never comes back.
TEST(Settings, APoolThatAReleaseStartsWithMayNeverHoldTheRequest) {
  const std::string file = temporary_file(
      "pool.json",
      R"({"version": 1, "model": "tiny-mamba2", "settings": {"mamba_cache_mode": "align",
          "enable_prefix_caching": true, "block_size": 16, "num_gpu_blocks_override": 69,
          "max_model_len": 1024, "max_num_seqs": 4, "max_num_batched_tokens": 256,
          "async_scheduling": false,
          "speculative_config": {"method": "mtp", "num_speculative_tokens": 3}},
          "requests": [{"id": "A", "prompt": 1023, "max_tokens": 1}]})");
  const ProgramResult started = run_program("run " + file + " --engine vllm-0.28.0");
  EXPECT_EQ(started.exit_code, 1) << started.err;
  EXPECT_THAT(started.out, HasSubstr("no-progress"));
  EXPECT_THAT(started.out, HasSubstr("0 of 1 request finished"));
  const ProgramResult refused = run_program("run " + file + " --engine vllm-0.29.0");
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, HasSubstr("vllm-0.29.0 does not start: its pool must hold the 69 blocks "
                                     "of a request of 1024 tokens and has 68, without the null"));
  const ProgramResult safe = run_program("run " + file);
  EXPECT_EQ(safe.exit_code, 3);
  EXPECT_THAT(safe.err, HasSubstr("it can need 69 blocks at 1024 tokens, the pool has 68"));
}

TEST(Settings, NgramRunsAsynchronouslyOnRunnerV2OfTheNewestRelease) {
  const std::string run =
      "run --no-timings --engine vllm-0.33.0 " +
      temporary_file("ngram.json",
                     R"({"version": 1, "model": "tiny-mamba2", "settings": {"block_size": 8,
                         "mamba_cache_mode": "align", "num_gpu_blocks_override": 40,
                         "max_model_len": 64, "speculative_config": {"method": "ngram",
                         "num_speculative_tokens": 2}},
                         "requests": [{"id": "A", "prompt": 6, "max_tokens": 8}]})");
  const ProgramResult by_itself = run_program(run);
  EXPECT_THAT(by_itself.err, HasSubstr("runner v2, prefix caching on, retention interval 0, "
                                       "asynchronous scheduling on"));
  const ProgramResult asked = run_program(run + " --runner v2 --async-scheduling");
  EXPECT_EQ(asked.out, by_itself.out) << asked.err;
  EXPECT_EQ(run_program(run + " --runner v1 --async-scheduling").exit_code, 2);
}

}  // namespace
}  // namespace hybridscope::test::given_settings_test
