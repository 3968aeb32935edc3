#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::plan_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kSmall =
    "plan --traffic synthetic --limit 40 --model tiny-gdn --num-blocks 2000 "
    "--max-model-len 4096 --sweep mamba_cache_mode=align,none --sweep max_num_seqs=2,8";

// The text in docs/plan.md between the marks, without the fence and the command.
TEST(Plan, TheExampleOfItsPageIsWhatItPrints) {
  const std::string page = read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/plan.md");
  const std::string begin = "<!-- plan example -->\n```\n$ hybridscope ";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos);
  const std::string rest = page.substr(at + begin.size());
  const std::size_t line = rest.find('\n');
  const ProgramResult run = run_program(rest.substr(0, line));
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, rest.substr(line + 1, rest.find("```\n<!-- /plan example -->") - line - 1));
}

TEST(Plan, EachCombinationHasARowAndOneIsRecommended) {
  const ProgramResult run = run_program(kSmall);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("40 requests; 4 of 4 combinations run"));
  EXPECT_THAT(run.out, HasSubstr("\nrecommended: mamba_cache_mode="));
  const auto json = nlohmann::json::parse(run_program(std::string(kSmall) + " --json").out);
  EXPECT_EQ(json["results"].size(), 4U);
  EXPECT_EQ(json["results"][0]["name"], "mamba_cache_mode=align max_num_seqs=2");
  EXPECT_EQ(json["results"][0]["figures"]["requests_finished"], 40);
  EXPECT_FALSE(json["results"][0]["figures"].contains("first_token_p50_us"));
}

TEST(Plan, ThreadsShardsAndAnEarlierFileGiveTheSameReport) {
  const std::string whole = run_program(std::string(kSmall) + " --json -j 1").out;
  EXPECT_EQ(run_program(std::string(kSmall) + " --json -j 3").out, whole);
  const std::string folder = temporary_folder("plan", {});
  std::string parts;
  for (const std::string shard : {"1/2", "2/2"}) {
    const std::string file = folder + "/part" + shard.substr(0, 1) + ".jsonl";
    EXPECT_EQ(run_program(std::string(kSmall) + " --shard " + shard + " --out " + file).exit_code,
              0);
    parts += " " + file;
  }
  EXPECT_EQ(run_program("plan --json --merge" + parts).out, whole);
  const std::string file = folder + "/all.jsonl";
  EXPECT_EQ(run_program("plan --json --merge" + parts + " --out " + file).out, whole);
  EXPECT_EQ(run_program(std::string(kSmall) + " --json --out " + file).out, whole);
}

TEST(Plan, AFileOfAnotherPlanIsRefused) {
  const std::string file = temporary_folder("plan", {}) + "/plan.jsonl";
  EXPECT_EQ(run_program(std::string(kSmall) + " --out " + file).exit_code, 0);
  const ProgramResult run = run_program(std::string(kSmall) + " --seed 7 --out " + file);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("has another plan: content of the traffic"));
}

TEST(Plan, TimesAppearOnlyWithAStepTime) {
  EXPECT_THAT(run_program(kSmall).out, Not(HasSubstr("tokens/s")));
  const ProgramResult run = run_program(
      std::string(kSmall) + " --step-time '5ms + 20us*prefill' --prefer throughput,first_token");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("a step takes 5000 + 20*prefill us"));
  EXPECT_THAT(run.out, HasSubstr("if steps take half as long: "));
  EXPECT_THAT(run.out, HasSubstr("if steps take twice as long: "));
}

TEST(Plan, TheListHasTheCombinationsOfAShard) {
  EXPECT_EQ(run_program(std::string(kSmall) + " --list").out,
            "mamba_cache_mode=align max_num_seqs=2\nmamba_cache_mode=align max_num_seqs=8\n"
            "mamba_cache_mode=none max_num_seqs=2\nmamba_cache_mode=none max_num_seqs=8\n");
}

TEST(Plan, TheListAsJsonIsOneObject) {
  const auto json = nlohmann::json::parse(
      run_program("plan --traffic synthetic --sweep max_num_seqs=2,8 --list --json").out);
  EXPECT_EQ(json, nlohmann::json({{"combinations", {"max_num_seqs=2", "max_num_seqs=8"}}}));
}

TEST(Plan, EqualCombinationsAreCountedInTheHeading) {
  const ProgramResult run = run_program(
      "plan --traffic synthetic --limit 3 --kv-memory 4GiB --max-num-seqs 4 --sweep "
      "mamba_cache_mode=none,align --sweep prefix_cache_retention_interval=none,0,2x -q");
  EXPECT_THAT(run.out, HasSubstr("4 of 4 combinations run, 2 more would equal one of them"));
}

TEST(Plan, WhatIsNotPossibleCostsNoBudget) {
  const ProgramResult run = run_program(
      "plan --traffic synthetic --limit 12 --sweep num_gpu_blocks_override=2,3,4,300 "
      "--sweep max_num_seqs=8,16 --budget 1");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("1 of 8 combinations run"));
}

TEST(Plan, TheLineOfARecommendationIsOneThatVllmTakes) {
  const std::string start =
      "plan --traffic synthetic --limit 12 --kv-memory 4GiB --sweep max_num_seqs=8 "
      "--from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct' --sweep ";
  EXPECT_THAT(run_program(start + "num_speculative_tokens=0").out,
              Not(HasSubstr("speculative-config")));
  EXPECT_THAT(run_program(start + "num_speculative_tokens=1").out, HasSubstr("\"method\":\"mtp\""));
  EXPECT_THAT(run_program(start + "mamba_cache_mode=none").out,
              HasSubstr("--no-enable-prefix-caching"));
}

TEST(Plan, ResultFilesTakeNoOptionsOfRuns) {
  const ProgramResult run = run_program("plan --merge a.jsonl --sweep max_num_seqs=8");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--sweep does not go with --merge"));
  for (const char* option : {"--output 5", "--shared 5", "--draft-model d"})
    EXPECT_EQ(run_program(std::string("plan --merge a.jsonl ") + option).exit_code, 2) << option;
}

TEST(Plan, ResultsAreKeptInAFileWithWhichItGoesOn) {
  for (const auto& [place, what] :
       {std::pair("-", "standard output"), std::pair("/dev/full", "a device or a pipe"),
        std::pair("/tmp", "a directory")}) {
    const ProgramResult run = run_program(std::string(kSmall) + " --out " + place);
    EXPECT_EQ(run.exit_code, 2) << place;
    EXPECT_THAT(run.err, HasSubstr(std::string("--out ") + place + ": this is " + what));
  }
}

TEST(Plan, ADamagedResultFileIsNamedWithItsLine) {
  const std::string file = temporary_folder("plan", {}) + "/plan.jsonl";
  EXPECT_EQ(run_program(std::string(kSmall) + " -q --out " + file).exit_code, 0);
  std::ofstream(file, std::ios::app) << R"({"name": "max_num_seqs=3", "refused": "x"})"
                                        "\n";
  const ProgramResult run = run_program("plan --merge " + file);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("plan.jsonl:6: /name: \"max_num_seqs=3\""));
  const ProgramResult window = run_program("gui " + file + " --model nemotron-h-8b");
  EXPECT_EQ(window.exit_code, 2);
  EXPECT_THAT(window.err, HasSubstr("results of a plan have their model and settings"));
}

TEST(Plan, WrongUsageIsToldBeforeAnythingRuns) {
  for (const auto& [options, message] :
       {std::pair("--sweep max_num_seqs", "--sweep: \"max_num_seqs\" is no sweep"),
        std::pair("--sweep max_num_seqs=2,8 --max-num-seqs 4", "both set and swept"),
        std::pair("--prefer speed", "--prefer: there is no goal"),
        std::pair("--prefer throughput", "throughput needs a step time"),
        std::pair("--model no-model", "no model is called"),
        std::pair("--from-serve 'vllm serve no/model'", "give its file with --model config.json"),
        std::pair("--shard 1/2 --budget 3", "--budget excludes --shard"),
        std::pair("--step-time fast", "--step-time: step time: \"fast\" is no term")}) {
    const ProgramResult run =
        run_program(std::string("plan --traffic synthetic --limit 3 ") + options);
    EXPECT_EQ(run.exit_code, 2) << options;
    EXPECT_THAT(run.err, HasSubstr(message));
  }
  EXPECT_EQ(run_program("plan --traffic none.jsonl").exit_code, 3);
  EXPECT_EQ(run_program("plan --traffic synthetic --model no/such/config.json").exit_code, 3);
}

// hybridscope plan --html.

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kPlan = "plan --traffic synthetic --limit 3 --model tiny-gdn --num-blocks 200 ";

TEST(PlanPageCommand, ThePageIsOnStandardOutputAndTheTableBesideIt) {
  const ProgramResult ran = run_program(kPlan + "--sweep max_num_seqs=1,2 -q --html -");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_THAT(ran.out, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(ran.err, HasSubstr("recommended: max_num_seqs=2"));
}

TEST(PlanPageCommand, AWrongPlaceIsRefusedBeforeAnythingRuns) {
  const ProgramResult two = run_program(kPlan + "--json --html -");
  EXPECT_EQ(two.exit_code, 2);
  EXPECT_THAT(two.err, HasSubstr("--html"));
  const std::string folder = temporary_folder("plan_page", {{"t.jsonl", "{}"}});
  const ProgramResult traffic =
      run_program("plan --traffic " + folder + "/t.jsonl --html " + folder + "/t.jsonl");
  EXPECT_EQ(traffic.exit_code, 2);
  EXPECT_THAT(traffic.err, HasSubstr("this is the traffic"));
  EXPECT_EQ(read_file(folder + "/t.jsonl"), "{}");
  const ProgramResult missing = run_program(kPlan + "--html " + folder + "/none/plan.html");
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_THAT(missing.err, HasSubstr("none/plan.html"));
}

using testing::ElementsAre;

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
  EXPECT_EQ(json["start"]["starts"], true);
  EXPECT_EQ(json["block"]["size"], 576);
  EXPECT_EQ(json["requests"][0]["at_once"], 144);
  EXPECT_EQ(json["limits"][0]["binds"], true);
}

TEST(PlanSizes, AnswersAPastedLineWithOne) {
  const ProgramResult run = run_program(
      "plan --from-serve 'vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --port 80 --max-num-seqs "
      "1024' --engine vllm-0.24.0 --kv-memory 5GiB --prompt 500 --output 20 --max-model-len 4096");
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.err, HasSubstr("not modelled, and left as it is: --port 80"));
  EXPECT_THAT(run.out, HasSubstr("max_num_seqs (1024) exceeds available Mamba cache blocks (401)"));
  EXPECT_THAT(run.out, HasSubstr("--max-num-seqs 401 in place of 1024"));
  EXPECT_THAT(run.out, HasSubstr("\nvllm serve Qwen/Qwen3-Next-80B-A3B-Instruct --port 80 "
                                 "--max-num-seqs 401"));
}

TEST(PlanSizes, AnswersAPastedContainerWithItsRelease) {
  const std::string file = testing::TempDir() + "compose.yml";
  std::ofstream(file) << "image: vllm/vllm-openai:v0.24.0\n"
                         "command: --model /models/Qwen3-Next-80B-A3B-Instruct-FP8 --port 80\n";
  for (const std::string& given : {"--from-serve @" + file, "--from-serve - < " + file}) {
    const ProgramResult run = run_program("plan " + given + " --kv-memory 5GiB");
    EXPECT_EQ(run.exit_code, 1) << run.err;  // 1024 sequences and 402 blocks
    EXPECT_THAT(run.err, HasSubstr("command and args are one line of vllm serve here"));
    EXPECT_THAT(run.err, HasSubstr("is taken to have the shapes of Qwen/Qwen3-Next-80B-A3B"));
    EXPECT_THAT(run.out, HasSubstr("max_num_seqs"));
  }
}

TEST(PlanSizes, RefusesDraftsWhoseLayersNoSettingTells) {
  const std::string line =
      "plan --kv-memory 5GiB --from-serve 'vllm serve "
      "Qwen/Qwen3-Next-80B-A3B-Instruct --speculative-config.model x ";
  EXPECT_THAT(run_program(line + "--speculative-config.method eagle3 "
                                 "--speculative-config.num_speculative_tokens 2'")
                  .err,
              HasSubstr("the layers of the draft model \"x\" are not known; give its config.json"));
  EXPECT_THAT(run_program(line + "'").err, HasSubstr("finds it in the files of \"x\": give the "
                                                     "method"));
}

TEST(PlanSizes, SaysWhatBecameOfTheCacheMode) {
  const std::string plan = "plan --engine vllm-0.28.0 --model ";
  EXPECT_THAT(run_program(plan + "qwen3-next-80b-a3b --mode all").err,
              HasSubstr("note: qwen3-next-80b-a3b has no mode all: it runs in align\n"));
  EXPECT_THAT(run_program(plan + "nemotron-h-8b --mode align --no-enable-prefix-caching").err,
              HasSubstr("note: prefix caching is off: mode none instead of align\n"));
  EXPECT_THAT(run_program("plan --model tiny-gdn --traffic synthetic --limit 3 --block-size 8 "
                          "--sweep mamba_cache_mode=align,all")
                  .err,
              HasSubstr("note: tiny-gdn has no mode all: it runs in align\n"));
}

// 262,144 tokens are 482 blocks of 544 tokens; each of three groups of states takes 2 more.
TEST(PlanSizes, SuggestsNothingWithWhichTheReleaseDoesNotStart) {
  const std::string plan =
      "plan --model qwen3-next-80b-a3b --prompt 500 --output 20 --engine vllm-0.33.0 --gpu a100 "
      "--max-num-seqs 64 --num-blocks ";
  const ProgramResult small = run_program(plan + "488");
  EXPECT_EQ(small.exit_code, 1);
  EXPECT_THAT(small.out, HasSubstr("ValueError: To serve at least one request with the model's max "
                                   "seq len (262144)"));
  EXPECT_THAT(small.out, Not(HasSubstr("max_num_seqs 4")));
  EXPECT_EQ(run_program(plan + "489").exit_code, 0);
}

TEST(PlanSizes, HasTheLogOfTheRelease) {
  const ProgramResult run = run_program(
      "plan --model qwen3-next-80b-a3b --kv-memory 40GiB --prompt 10 --gpu a100 --engine "
      "vllm-0.33.0 --json");
  EXPECT_THAT(nlohmann::json::parse(run.out)["start"]["log"],
              ElementsAre("Mamba cache mode is set to 'align' for Qwen3NextForCausalLM by default "
                          "when prefix caching is enabled",
                          "Setting attention block size to 544 tokens to ensure that attention "
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
  EXPECT_THAT(run.out, HasSubstr("blocks        2,275 of 14,155,776 bytes"));
}

TEST(PlanSizes, WrongUseIsExitCode2) {
  EXPECT_EQ(run_program("plan").exit_code, 2);
  EXPECT_THAT(run_program("plan").err, HasSubstr("name a model"));
  EXPECT_THAT(run_program("plan --model tiny-gdn --output 3").err, HasSubstr("need --prompt"));
  EXPECT_THAT(run_program("plan --model tiny-gdn --prompt 3 --shared 4").err,
              HasSubstr("--shared is 4, more than the 3 tokens"));
  EXPECT_THAT(run_program("plan --model no-model").err, HasSubstr("no model is called"));
  EXPECT_THAT(run_program("plan --from-serve 'vllm serve Qwen/Qwen3-8B'").err,
              HasSubstr("give its file with --model config.json"));
  EXPECT_EQ(run_program("plan --model tiny-gdn --prompt 300000").exit_code, 2);
  EXPECT_EQ(run_program("plan --model no/such/config.json").exit_code, 3);
}

}  // namespace

}  // namespace hybridscope::test::plan_test
