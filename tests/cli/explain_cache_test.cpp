// hybridscope explain-cache, and the formats and loads of traffic that it and `run` take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/releases.h"
#include "tests/cli/program.h"

namespace hybridscope::test::explain_cache_test {
namespace {

using test::ProgramResult;
using test::run_program;
using test::temporary_file;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kShared = "explain-cache scenarios/shared_prefix_align.json";

// The text in docs/traffic.md between the marks, without the fence.
std::string documented_example() {
  const std::string page = read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/traffic.md");
  const std::string begin = "<!-- explain-cache shared_prefix_align -->\n```\n";
  const std::size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("```\n<!-- /explain-cache -->") - at);
}

TEST(ExplainCache, TheExampleOfItsPageIsWhatItPrints) {
  const ProgramResult run = run_program(kShared);
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out, documented_example());
}

TEST(ExplainCache, OneRequestIsToldInSentences) {
  const ProgramResult run = run_program(std::string(kShared) + " --request C");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out,
              HasSubstr("C, admitted in step 3, has 20 tokens, 8 of them in common with A; "
                        "hit 0, 8 computed again."));
  EXPECT_THAT(run.out, HasSubstr("- Tokens 1..8 (state missing)"));
  EXPECT_THAT(run.out, HasSubstr("- With 8 more shared tokens the hit is 16 tokens instead of 0."));
  EXPECT_THAT(run.out, HasSubstr("- With mode all the hit is 8 tokens instead of 0."));
  EXPECT_THAT(run.out, Not(HasSubstr("B, admitted")));
}

// Of the block sizes that would help 1296 is the largest that an attention kernel takes: 81 * 16.
TEST(ExplainCache, SuggestsBlockSizesThatTheKernelsTake) {
  const std::string file = temporary_file(
      "block_sizes.json",
      R"({"version": 1, "model": "qwen3-next-80b-a3b", "settings": {"enable_prefix_caching": true,
          "max_model_len": 32768, "block_size": 2048}, "requests": [
          {"id": "R1", "prompt": {"tokens": 1300, "share": "P"}},
          {"id": "R2", "prompt": {"tokens": 1300, "share": "P"}, "at_step": 100}]})");
  const ProgramResult run = run_program("explain-cache " + file);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("block_size 1296: 1296\n"));
  EXPECT_EQ(run_program("run -q " + file + " --block-size 1296").exit_code, 0);
  EXPECT_EQ(run_program("run -q " + file + " --block-size 1299").exit_code, 2);
}

// A's prompt of 20 stops at 16 in every release, and the state there is kept; none is after 8,
// where C needs one.
TEST(ExplainCache, RunsUnderEveryRelease) {
  for (const std::string_view release : release_names()) {
    const ProgramResult run =
        run_program(std::string(kShared) + " --enable-prefix-caching --json --engine vllm-" +
                    std::string(release));
    ASSERT_EQ(run.exit_code, 0) << release << run.err;
    const auto json = nlohmann::json::parse(run.out);
    EXPECT_EQ(json["lookups"][1]["num_hit_tokens"], 16) << release;
    EXPECT_EQ(json["lookups"][2]["num_hit_tokens"], 0) << release;
    EXPECT_EQ(json["lookups"][2]["lost"]["state_missing"], 8) << release;
    EXPECT_EQ(json["lookups"][2]["unkept_state"], nullptr) << release;
    EXPECT_EQ(json["smallest_cacheable_prefix"], 8) << release;
  }
}

TEST(ExplainCache, AStateThatRetentionLeftOutIsToldAndTried) {
  const std::string file =
      temporary_file("retained.json",
                     R"({"version": 1, "name": "retained", "model": "tiny-mamba2",
          "settings": {"mamba_cache_mode": "align", "block_size": 8,
                       "num_gpu_blocks_override": 64, "async_scheduling": false},
          "requests": [{"id": "A", "prompt": 18, "max_tokens": 16},
            {"id": "B", "prompt": {"tokens": 34, "share": "A", "share_tokens": 28},
             "at_step": 22}]})");
  const std::string command = "explain-cache " + file + " --engine vllm-0.33.0";
  const ProgramResult told = run_program(command + " --request B");
  EXPECT_THAT(told.out,
              HasSubstr("- Tokens 17..24 (state missing): attention has or had them, but the state "
                        "of A after 24 tokens was\n  not kept: retention interval 0 keeps only the "
                        "end of the prompt, 16; the last one before is the\n  state after 16 "
                        "tokens.\n"));
  EXPECT_THAT(told.out, HasSubstr("- With prefix_cache_retention_interval 24 the hit is 24 tokens "
                                  "instead of 16, 8 more.\n"));
  EXPECT_THAT(run_program(command).out, HasSubstr("prefix_cache_retention_interval 24: 24\n"));
  const auto b = nlohmann::json::parse(run_program(command + " --json").out)["lookups"][1];
  EXPECT_EQ(b["unkept_state"], nlohmann::json::parse(R"({"num_tokens": 24, "checkpoint": false,
                                      "kept": [{"reason": "prompt_end", "num_tokens": 16}]})"));
  EXPECT_EQ(b["changes"][0]["change"], "keep_states");
  EXPECT_EQ(b["coarser_match_units"], nlohmann::json::array());
}

TEST(ExplainCache, AHitInsideABlockIsToldWithCoarserUnits) {
  const std::string file =
      temporary_file("inside.json",
                     R"({"version": 1, "name": "inside", "model": "tiny-mamba2",
          "settings": {"mamba_cache_mode": "align", "block_size": 8, "prefix_match_unit": 2,
                       "num_gpu_blocks_override": 64, "async_scheduling": false},
          "requests": [{"id": "A", "prompt": 21, "max_tokens": 6},
            {"id": "B", "prompt": {"tokens": 25, "share": "A", "share_tokens": 21},
             "at_step": 16}]})");
  const ProgramResult told =
      run_program("explain-cache " + file + " --engine vllm-0.33.0 --request B");
  EXPECT_THAT(told.out, HasSubstr("- The hit ends 4 tokens into a block of 8, because "
                                  "prefix_match_unit is 2; the request gets a copy\n"));
  EXPECT_THAT(told.out, HasSubstr("- With prefix_match_unit 8, which ends hits at the ends of "
                                  "blocks, the hit is 16 tokens, 4 fewer.\n"));
  const auto b = nlohmann::json::parse(
      run_program("explain-cache " + file + " --engine vllm-0.33.0 --json").out)["lookups"][1];
  EXPECT_EQ(b["coarser_match_units"],
            nlohmann::json::parse(R"([{"prefix_match_unit": 4, "num_hit_tokens": 20},
                                      {"prefix_match_unit": 8, "num_hit_tokens": 16}])"));
}

TEST(ExplainCache, JsonHasTotalsAndEveryLookup) {
  const ProgramResult run = run_program(std::string(kShared) + " --json");
  ASSERT_EQ(run.exit_code, 0);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["smallest_cacheable_prefix"], 8);
  EXPECT_EQ(json["smallest_cacheable_prompt"], 9);
  EXPECT_EQ(json["totals"]["num_common_tokens"], 24);
  EXPECT_EQ(json["totals"]["lost"]["state_missing"], 8);
  ASSERT_EQ(json["lookups"].size(), 3u);
  const auto& c = json["lookups"][2];
  EXPECT_EQ(c["request"], "C");
  EXPECT_EQ(c["common_with"], "A");
  EXPECT_EQ(c["num_hit_tokens"], 0);
  EXPECT_EQ(c["next_state"], 16);
  EXPECT_EQ(c["changes"][0]["change"], "more_shared_tokens");
  EXPECT_EQ(c["changes"][0]["num_hit_tokens"], 16);
  EXPECT_EQ(json["lookups"][0]["common_with"], nullptr);
}

TEST(ExplainCache, JsonLinesAreALookupEachAndThenTheTotals) {
  const ProgramResult run = run_program(std::string(kShared) + " --jsonl");
  ASSERT_EQ(run.exit_code, 0);
  std::istringstream lines(run.out);
  std::vector<nlohmann::json> objects;
  for (std::string line; std::getline(lines, line);) objects.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(objects.size(), 4u);
  EXPECT_EQ(objects[1]["request"], "B");
  EXPECT_EQ(objects[3]["totals"]["num_hit_tokens"], 16);
  EXPECT_FALSE(objects[3].contains("lookups"));
}

TEST(ExplainCache, ALimitIsForTraffic) {
  const ProgramResult run = run_program(std::string(kShared) + " --limit 2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--limit requires --traffic"));
}

TEST(ExplainCache, AScenarioAndTrafficExcludeEachOther) {
  const ProgramResult run = run_program(std::string(kShared) + " --traffic synthetic");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("excludes"));
}

TEST(ExplainCache, TopShowsThoseThatLostMost) {
  const ProgramResult run = run_program(std::string(kShared) + " --top 1 --json");
  ASSERT_EQ(run.exit_code, 0);
  const auto json = nlohmann::json::parse(run.out);
  ASSERT_EQ(json["lookups"].size(), 1u);
  EXPECT_EQ(json["lookups"][0]["request"], "C");
  EXPECT_EQ(json["totals"]["num_lookups"], 3);
}

TEST(ExplainCache, SettingsOfTheCommandLineHold) {
  const ProgramResult run = run_program(std::string(kShared) + " --mode all");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("24 tokens hit: 40.0 % of all, 100.0 % of those in common"));
  const ProgramResult off = run_program(std::string(kShared) + " --mode none");
  EXPECT_EQ(off.exit_code, 0);
  EXPECT_THAT(off.out, HasSubstr("smallest cacheable prefix: none, prefix caching is off"));
  EXPECT_THAT(off.out, HasSubstr("lost to: caching off 24"));
}

TEST(ExplainCache, TrafficIsToldByWhatWasLostMost) {
  const ProgramResult run = run_program("explain-cache --traffic synthetic --limit 30");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("the 20 lookups that lost most, of 30"));
  EXPECT_THAT(run.out, HasSubstr("30 lookups of 39711 tokens"));
}

// 12,000 tokens of output or so are more rows than a table is made again for.
TEST(ExplainCache, OfALongRunChangesAreTriedForOneRequestOnly) {
  const ProgramResult all = run_program("explain-cache --traffic synthetic --limit 200");
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, Not(HasSubstr("would help")));
  EXPECT_THAT(all.out,
              HasSubstr("--request NAME explains one request in full, and tries what would"));
  const ProgramResult one =
      run_program("explain-cache --traffic synthetic --limit 200 --request c5.t1");
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, HasSubstr("- With 322 more shared tokens the hit is 1632 tokens instead of "
                                 "0."));
}

TEST(ExplainCache, AnUnknownRequestIsRefusedWithANearOne) {
  const ProgramResult run =
      run_program("explain-cache --traffic synthetic --limit 30 --request c19.t9");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--request: there is no request \"c19.t9\", did you mean \"c1"));
}

TEST(ExplainCache, WrongUsageAndInputAreRefused) {
  EXPECT_EQ(run_program("explain-cache").exit_code, 2);
  EXPECT_THAT(run_program("explain-cache").err, HasSubstr("give a scenario file or --traffic"));
  EXPECT_EQ(run_program(std::string(kShared) + " --json --jsonl").exit_code, 2);
  EXPECT_EQ(run_program(std::string(kShared) + " --top 0").exit_code, 2);
  EXPECT_EQ(run_program(std::string(kShared) + " --block-size none").exit_code, 2);
  const ProgramResult missing = run_program("explain-cache scenarios/no_such.json");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("hybridscope explain-cache: "));
}

// The second turn hits the prompt and the answer of the first: 4 + 3 whole blocks of 8 tokens.
TEST(TrafficFiles, ATurnHitsTheAnswerBeforeItInAClosedLoop) {
  const std::string chat = temporary_file(
      "chat.json",
      R"([{"conversations": [{"from": "human", "value": ")" + std::string(128, 'a') +
          R"("}, {"from": "gpt", "value": ")" + std::string(112, 'b') +
          R"("}, {"from": "human", "value": "more"}, {"from": "gpt", "value": "yes"}]}])");
  const ProgramResult run = run_program(
      "run --users 1 --model tiny-gdn --block-size 8 --mode align --max-model-len 128 "
      "--num-blocks 64 --no-timings --traffic " +
      chat);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 of 2 requests finished"));
  EXPECT_THAT(run.out, HasSubstr("93 prompt tokens, 56 of them from the prefix cache"));
}

TEST(TrafficFiles, ARecordedClosedLoopRunsAgainStepByStepAndCanBeForked) {
  const std::string db = test::temporary_folder("closed_loop", {}) + "/runs.db";
  const ProgramResult run = run_program(
      "run -q --traffic synthetic --users 3 --limit 9 --model tiny-gdn --record " + db + ":closed");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run_program("sessions rerun " + db + ":closed").out,
              HasSubstr("runs.db:closed reproduces: "));
  const ProgramResult forked = run_program(
      "sessions fork " + db + ":closed --at 200 --budget 64 --record " + db + ":forked");
  EXPECT_EQ(forked.exit_code, 0) << forked.err;
  EXPECT_THAT(run_program("sessions rerun " + db + ":forked").out,
              HasSubstr("runs.db:forked reproduces: "));
}

TEST(TrafficFiles, ExplainCacheTakesTheSameFormatsAndLoads) {
  const std::string log = temporary_file("log", R"({"prompt": "0123456789", "max_tokens": 3})");
  const ProgramResult explained = run_program(
      "explain-cache --traffic-format openai-log --request-rate 2.5 --model tiny-gdn --traffic " +
      log);
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("r1"));
  EXPECT_EQ(explained.err.find("no times"), std::string::npos) << explained.err;
}

// 30 blocks of 8 tokens hold no prompt of 400 tokens, whoever else is in the file.
TEST(TrafficFiles, ARequestThatNeverFitsIsCountedAndNamedAndTheOthersRun) {
  const std::string log = temporary_file(
      "unfit.csv",
      "Timestamp,Model,Request tokens,Response tokens\n5,m,10,2\n6,m,400,2\n7,m,20,2\n");
  const std::string options =
      " --model tiny-gdn --mode align --block-size 8 --num-blocks 31 --traffic " + log;
  const ProgramResult run = run_program("run --no-timings" + options);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 of 2 requests finished"));
  EXPECT_THAT(run.err, HasSubstr("left out 1 of 3 requests, which the engine never serves: request "
                                 "\"r3\": it can need 55 blocks at 402 tokens, the pool has 30"));
  const ProgramResult plan = run_program("plan" + options + " --sweep max_num_seqs=1,4");
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.err, HasSubstr("left out 1 of 3 requests"));
  EXPECT_EQ(plan.out.find("not possible"), std::string::npos) << plan.out;
  const ProgramResult none = run_program(
      "run --model tiny-gdn --mode align --block-size 8 "
      "--num-blocks 3 --traffic " +
      log);
  EXPECT_NE(none.exit_code, 0);
  EXPECT_THAT(none.err, HasSubstr("request \"r2\": it can need"));
}

TEST(TrafficFiles, WhatAReaderAssumedIsANote) {
  const std::string trace = temporary_file(
      "b.csv", "Timestamp,Model,Request tokens,Response tokens\n5,m,10,2\n6,m,0,2\n");
  EXPECT_THAT(run_program("run --model tiny-gdn --traffic " + trace).err,
              HasSubstr("note: 1 line without request tokens left out\n"));
}

TEST(TrafficFiles, ErrorsNameFileAndLineAndUnknownFilesTheFormats) {
  const std::string broken =
      temporary_file("b.json", "[{\"conversations\": []},\n {\"conversations\": 5}]");
  const ProgramResult run = run_program("run --model tiny-gdn --traffic " + broken);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr(broken + ":2: /conversations: expected an array, found 5\n"));
  const std::string unknown = temporary_file("unknown", "hello\n");
  EXPECT_THAT(run_program("run --model tiny-gdn --traffic " + unknown).err,
              HasSubstr(unknown + ":1: begins with \"hello\", which is no known traffic"));
}

TEST(TrafficOptions, ThatContradictEachOtherOrAreNoNumbersAreUsageErrors) {
  const auto error = [](const std::string& options) {
    const ProgramResult run = run_program("run --traffic synthetic " + options);
    EXPECT_EQ(run.exit_code, 2) << options;
    return run.err;
  };
  EXPECT_THAT(error("--users 2 --request-rate 3"), HasSubstr("--users excludes --request-rate"));
  EXPECT_THAT(error("--users 0"), HasSubstr("--users: "));
  EXPECT_THAT(error("--think-time soon"),
              HasSubstr("--think-time: \"soon\" is not a number from 0 to 86400"));
  EXPECT_THAT(error("--request-rate 0"),
              HasSubstr("--request-rate: \"0\" is not a number from 0.000001 to 1000000"));
  EXPECT_THAT(error("--traffic-format csv"), HasSubstr("--traffic-format: "));
  EXPECT_THAT(run_program("run scenarios/plain_decode.json --users 2").err,
              HasSubstr("--users requires --traffic"));
  EXPECT_THAT(run_program("run --traffic synthetic --traffic-format mooncake").err,
              HasSubstr("synthetic traffic has no format"));
}

}  // namespace
}  // namespace hybridscope::test::explain_cache_test
