// The cache mode of a line of vllm serve, against what vLLM makes of the same flags: in the
// packages of all ten releases EngineArgs.create_engine_config was called with each line
// (2026-11-28).
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/job/plan_question.h"
#include "sessions/scenario/engine_setup.h"
#include "tests/cli/program.h"

namespace hybridscope::test::cache_mode_test {
namespace {

using testing::HasSubstr;

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
  EXPECT_THAT(run.out, HasSubstr("mode align,"));
  EXPECT_THAT(run.out, HasSubstr("\nvllm serve Qwen/Qwen3-Next-80B-A3B-Instruct "
                                 "--mamba-cache-mode align --enable-prefix-caching "));
  EXPECT_THAT(run.out, HasSubstr("\n  kv_cache_dtype fp8: 50 requests (50 by blocks), block "
                                 "1,072, shortest prefix 1,072"));
}

TEST(CacheMode, NoneAsAnOptionTurnsCachingOffInTheLine) {
  const ProgramResult run =
      run_program(kLine + kGdn + "' --mamba-cache-mode none --engine vllm-0.33.0");
  EXPECT_THAT(run.err, HasSubstr("vLLM 0.33.0 itself needs --no-enable-prefix-caching"));
  EXPECT_THAT(run.out, HasSubstr("mode none,"));
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
}  // namespace hybridscope::test::cache_mode_test
