// hybridscope plan --from-log.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::plan_log_test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Qwen3.6-27B as vLLM 0.28.0 serves it with an FP8 cache and two drafts, from a container.
constexpr const char* kLog =
    "vllm-1  | (APIServer pid=1) INFO 11-02 10:00:00 [api_utils.py:345]  █▄█▀ █     █     █     █  "
    "version 0.28.0\n"
    "vllm-1  | (APIServer pid=1) INFO 11-02 10:00:00 [api_utils.py:273] non-default args: "
    "{'model_tag': '/models/Qwen3.6-27B-NVFP4', 'model': '/models/Qwen3.6-27B-NVFP4', "
    "'max_model_len': 262144, 'kv_cache_dtype': 'fp8', 'max_num_batched_tokens': 65536, "
    "'max_num_seqs': 8, 'speculative_config': {'method': 'qwen3_5_mtp', 'num_speculative_tokens': "
    "2}}\n"
    "vllm-1  | (EngineCore pid=7) INFO 11-02 10:01:00 [interface.py:911] Setting attention block "
    "size to 1600 tokens to ensure that attention page size is >= mamba page size.\n"
    "vllm-1  | (EngineCore pid=7) INFO 11-02 10:01:00 [gpu_worker.py:564] Available KV cache "
    "memory: 48.6 GiB\n"
    "vllm-1  | (EngineCore pid=7) INFO 11-02 10:01:00 [kv_cache_utils.py:1869] GPU KV cache size: "
    "1,394,129 tokens, Maximum concurrency for 262,144 tokens per request: 5.32x\n";

std::string log_file(std::string text = kLog) { return temporary_file("vllm.log", text); }

TEST(PlanFromLog, PrintsOurFiguresBesideTheLogs) {
  const ProgramResult run = run_program("plan --from-log " + log_file());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("  what                             log  hybridscope\n"));
  EXPECT_THAT(run.out, HasSubstr("  tokens of a block              1,600        1,600  agree\n"));
  EXPECT_THAT(run.out, HasSubstr("  KV tokens                  1,394,129    1,394,129  agree\n"));
  EXPECT_THAT(run.out, HasSubstr("  padding layers                     -   3 (6.25 %)  not in the "
                                 "log\n"));
  EXPECT_THAT(run.out, HasSubstr("  4 of 4 figures agree.\n"));
  EXPECT_THAT(run.err, HasSubstr("/models/Qwen3.6-27B-NVFP4 is taken to have the shapes of "
                                 "Qwen/Qwen3.6-27B"));
}

TEST(PlanFromLog, AFigureThatIsNotOursDiffers) {
  std::string text = kLog;
  text.replace(text.find("1600 tokens"), 4, "1616");
  const ProgramResult run = run_program("plan --from-log " + log_file(text));
  EXPECT_THAT(run.out, HasSubstr("1,616        1,600  differ\n"));
  EXPECT_THAT(run.out, HasSubstr("3 of 4 figures agree."));
}

// The memory was measured: the line to paste does not ask for it.
TEST(PlanFromLog, GoesOnWithTheLineOfItsArguments) {
  const ProgramResult run = run_program("plan --max-num-seqs 4 --from-log - < " + log_file());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("--max-num-seqs 4 in place of 8"));
  EXPECT_THAT(run.out, HasSubstr("\nvllm serve /models/Qwen3.6-27B-NVFP4 --max-model-len 262144 "));
  EXPECT_THAT(run.out, Not(HasSubstr("--kv-cache-memory-bytes")));
}

TEST(PlanFromLog, TheSettingsOfTrafficAreThoseOfTheLog) {
  const ProgramResult run = run_program(
      "plan --traffic synthetic --limit 5 --sweep max_num_seqs=2,4 --from-log " + log_file());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("the log beside a plan: 4 of 4 figures agree"));
  EXPECT_THAT(run.out, HasSubstr("--max-num-seqs 4 in place of 8"));
  EXPECT_THAT(run.out, Not(HasSubstr("--kv-cache-memory-bytes")));
}

TEST(PlanFromLog, HasItsRowsInJson) {
  const auto json =
      nlohmann::json::parse(run_program("plan --json --from-log " + log_file()).out)["log"];
  EXPECT_EQ(json["differences"], 0);
  EXPECT_EQ(json["rows"][0], nlohmann::json({{"what", "tokens of a block"},
                                             {"log", "1,600"},
                                             {"hybridscope", "1,600"},
                                             {"agreement", "agree"}}));
}

TEST(PlanFromLog, SaysWhatIsMissing) {
  const auto error_of = [](const std::string& text) {
    const ProgramResult run = run_program("plan --from-log " + log_file(text));
    EXPECT_EQ(run.exit_code, 2) << text;
    return run.err;
  };
  EXPECT_THAT(error_of("INFO: started"), HasSubstr("no line of a start of vLLM"));
  EXPECT_THAT(error_of("GPU KV cache size: 1,000 tokens"),
              HasSubstr("the log names no model: give it with --model NAME or config.json"));
  EXPECT_THAT(error_of("non-default args: {'model': 'some/model'}"),
              HasSubstr("the sizes of some/model are not known"));
}

TEST(PlanFromLog, TakesTheNearestRelease) {
  std::string text = kLog;
  text.replace(text.find("0.28.0"), 6, "0.23.1");
  EXPECT_THAT(run_program("plan --from-log " + log_file(text)).err,
              HasSubstr("release 0.23.1 is not modelled: planned as 0.24.0"));
  EXPECT_THAT(run_program("plan --model qwen3.6-27b --from-log " +
                          log_file("GPU KV cache size: 1,394,129 tokens"))
                  .err,
              HasSubstr("the log tells no release: planned as 0.33.0"));
}

}  // namespace
}  // namespace hybridscope::test::plan_log_test
