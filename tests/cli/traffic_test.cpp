// Traffic in its formats and loads, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.h"

namespace hybridscope::traffic_test {
namespace {

using test::ProgramResult;
using test::run_program;
using test::temporary_file;
using testing::HasSubstr;

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
}  // namespace hybridscope::traffic_test
