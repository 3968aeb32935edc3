// Settings of the command line, and whose fault it is where a run is not possible with them.

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/job/plan_question.h"
#include "sessions/scenario/engine_setup.h"
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

// The cache mode of a line of vllm serve, against what vLLM makes of the same flags: in the
// packages of all ten releases EngineArgs.create_engine_config was called with each line
// (2026-11-28).

// The mode, in which none is prefix caching off; "refused" where vLLM takes no such flag.
std::string mode_of(const std::string& model, const std::string& flags,
                    const std::string& release) {
  PlanJobOptions options;
  options.from_serve = "vllm serve " + model + " " + flags;
  if (!options.settings.give("engine", "vllm-" + release).ok()) return "no such release";
  const auto question = read_plan_question(options);
  if (!question.ok()) return question.error().message;
  const auto setup = make_engine_setup(question.value().model, question.value().settings);
  if (!setup.ok()) return "refused";
  EXPECT_EQ(setup.value().config.enable_prefix_caching,
            setup.value().config.mamba_cache_mode != MambaCacheMode::none);
  return std::string(mamba_cache_mode_name(setup.value().config.mamba_cache_mode));
}

struct Case {
  std::vector<std::string> releases;
  std::string model;
  std::string caching;             // flag
  std::vector<std::string> modes;  // without --mamba-cache-mode, with none, align, all
};

const std::vector<std::string> kOptIn = {"0.24.0", "0.25.1", "0.26.0", "0.27.1"};
const std::vector<std::string> kOn = {"0.28.0", "0.29.0", "0.30.0", "0.31.0"};
const std::vector<std::string> kWithoutAll = {"0.32.0", "0.33.0"};
// Has no mode all; has it.
constexpr const char* kGdn = "Qwen/Qwen3-Next-80B-A3B-Instruct";
constexpr const char* kMamba2 = "nvidia/Nemotron-H-8B-Base-8K";
constexpr const char* kEnabled = "--enable-prefix-caching";
constexpr const char* kDisabled = "--no-enable-prefix-caching";

const std::vector<Case> kCases = {
    {kOptIn, kGdn, "", {"none", "none", "none", "none"}},
    {kOptIn, kGdn, kEnabled, {"align", "align", "align", "align"}},
    {kOptIn, kGdn, kDisabled, {"none", "none", "none", "none"}},
    {kOptIn, kMamba2, "", {"none", "none", "none", "none"}},
    {kOptIn, kMamba2, kEnabled, {"all", "all", "align", "all"}},
    {kOptIn, kMamba2, kDisabled, {"none", "none", "none", "none"}},
    {kOn, kGdn, "", {"align", "align", "align", "align"}},
    {kOn, kGdn, kEnabled, {"align", "align", "align", "align"}},
    {kOn, kGdn, kDisabled, {"none", "none", "none", "none"}},
    {kOn, kMamba2, "", {"align", "align", "align", "all"}},
    {kOn, kMamba2, kEnabled, {"align", "align", "align", "all"}},
    {kOn, kMamba2, kDisabled, {"none", "none", "none", "none"}},
    {kWithoutAll, kGdn, "", {"align", "align", "align", "refused"}},
    {kWithoutAll, kGdn, kEnabled, {"align", "align", "align", "refused"}},
    {kWithoutAll, kGdn, kDisabled, {"none", "none", "none", "refused"}},
    {kWithoutAll, kMamba2, "", {"align", "align", "align", "refused"}},
    {kWithoutAll, kMamba2, kEnabled, {"align", "align", "align", "refused"}},
    {kWithoutAll, kMamba2, kDisabled, {"none", "none", "none", "refused"}},
};

TEST(CacheMode, OfALineIsThatOfTheRelease) {
  const std::string modes[] = {"", " --mamba-cache-mode none", " --mamba-cache-mode align",
                               " --mamba-cache-mode all"};
  for (const Case& of : kCases)
    for (const std::string& release : of.releases)
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(mode_of(of.model, of.caching + modes[i], release), of.modes[i])
            << release << ' ' << of.model << ' ' << of.caching << modes[i];
}

const std::string kLine = "plan --kv-memory 5GiB --from-serve 'vllm serve ";

TEST(CacheMode, NoneWithCachingOnIsSaidAndWrittenAsWhatRuns) {
  const ProgramResult run = run_program(kLine + kGdn +
                                        " --mamba-cache-mode none --enable-prefix-caching' "
                                        "--engine vllm-0.33.0");
  EXPECT_THAT(run.err, HasSubstr("vLLM 0.33.0 makes mode none into align when prefix caching is"));
  EXPECT_THAT(run.out, HasSubstr("mode align\n"));
  EXPECT_THAT(run.out, HasSubstr("\nvllm serve Qwen/Qwen3-Next-80B-A3B-Instruct "
                                 "--mamba-cache-mode align --enable-prefix-caching "));
  EXPECT_THAT(run.out, HasSubstr("\n  kv_cache_dtype fp8: "));
}

TEST(CacheMode, NoneAsAnOptionTurnsCachingOffInTheLine) {
  const ProgramResult run =
      run_program(kLine + kGdn + "' --mamba-cache-mode none --engine vllm-0.33.0");
  EXPECT_THAT(run.err, HasSubstr("vLLM 0.33.0 itself needs --no-enable-prefix-caching"));
  EXPECT_THAT(run.out, HasSubstr("mode none\n"));
  EXPECT_THAT(run.out, HasSubstr("\nvllm serve Qwen/Qwen3-Next-80B-A3B-Instruct "
                                 "--mamba-cache-mode none --kv-cache-memory-bytes 5368709120 "
                                 "--no-enable-prefix-caching\n"));
}

// What is written asks for the same again, whatever was asked for.
TEST(CacheMode, AWrittenLineAsksForWhatWasPlanned) {
  for (const std::string& release : {"0.24.0", "0.28.0", "0.33.0"})
    for (const std::string& model : {kGdn, kMamba2})
      for (const std::string& flags :
           {"--mamba-cache-mode none", "--mamba-cache-mode none --enable-prefix-caching",
            "--mamba-cache-mode none --no-enable-prefix-caching", "--enable-prefix-caching"}) {
        PlanJobOptions options;
        options.from_serve = "vllm serve " + model + " " + flags;
        ASSERT_TRUE(options.settings.give("engine", "vllm-" + release).ok());
        const PlanQuestion question = read_plan_question(options).value();
        const EngineSetup setup = make_engine_setup(question.model, question.settings).value();
        nlohmann::ordered_json json;
        add_serve_line(*question.line, question.settings, setup.layout, json);
        const std::string written = json["serve"]["line"];
        EXPECT_EQ(mode_of(written.substr(std::string("vllm serve ").size()), "", release),
                  mamba_cache_mode_name(setup.config.mamba_cache_mode))
            << written;
        EXPECT_EQ(written.find("none") != std::string::npos,
                  setup.config.mamba_cache_mode == MambaCacheMode::none &&
                      flags.find("none") != std::string::npos)
            << written;
      }
}

// In a sweep none is a mode to try, so that prefix caching is off in it.
TEST(CacheMode, NoneInASweepIsCachingOff) {
  const ProgramResult run = run_program(
      "plan --traffic synthetic --limit 4 --model tiny-gdn --block-size 16 --max-model-len 32768 "
      "--kv-memory 1GiB --sweep mamba_cache_mode=none,align --engine vllm-0.33.0 --json -q");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto results = nlohmann::json::parse(run.out)["results"];
  EXPECT_EQ(results[0]["sizes"]["mamba_cache_mode"], "none");
  EXPECT_EQ(results[1]["sizes"]["mamba_cache_mode"], "align");
}

}  // namespace

}  // namespace hybridscope::test::given_settings_test
