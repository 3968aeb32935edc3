// Decisions of two engines held against each other: `hybridscope judge --engine PROFILE` and
// `hybridscope diff A.db B.db`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::test::judge_engine_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// One step of one request of two tokens, which got block `block`; ours would be block 1. `config`:
// more members of the header's config, each with a comma behind it.
std::string trace_file(const std::string& block, const std::string& config = "") {
  const std::string blocks = "[[" + block + "]]";
  const std::string header =
      R"({"hybridscope_trace": 1, "config": {)" + config +
      (config.empty() ? R"("runner": "v1", )" : "") +
      R"("async_scheduling": false, "cudagraph_mode": "NONE", )"
      R"("mamba_cache_mode": "none", "num_gpu_blocks": 8, )"
      R"("max_model_len": 16, "max_num_seqs": 2, "max_num_batched_tokens": 8, )"
      R"("kv_cache_groups": [{"type": "full_attention", "block_size": 4}]}})";
  const std::string step =
      R"({"step": 1, "scheduler_output": {"scheduled_new_reqs": [{"req_id": "a", )"
      R"("prompt_token_ids": [5, 6], "max_tokens": 9, "block_ids": )" +
      blocks +
      R"(, "num_computed_tokens": 0}], "num_scheduled_tokens": {"a": 2}, )"
      R"("finished_req_ids": [], "preempted_req_ids": []}, )"
      R"("scheduler_block_ids": {"a": )" +
      blocks +
      R"(}, "input_batch": {"req_ids": ["a"]}, )"
      R"("model_runner_output": {"req_ids": ["a"], "sampled_token_ids": [[7]]}})";
  return temporary_file((config.empty() ? "block_" : "config_block_") + block + ".jsonl",
                        header + "\n" + step + "\n");
}

TEST(JudgeEngine, ATraceThatDecidesAsWeDoAgrees) {
  const ProgramResult judged = run_program("judge --engine safe " + trace_file("1"));
  EXPECT_EQ(judged.exit_code, 0) << judged.out << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("profile safe: differences in 0 of 1 trace"));
  EXPECT_THAT(judged.out, Not(HasSubstr("first difference")));
}

TEST(JudgeEngine, ADifferenceIsToldAndGivesExitCode1) {
  const ProgramResult judged = run_program("judge --engine reference " + trace_file("3"));
  EXPECT_EQ(judged.exit_code, 1) << judged.err;
  EXPECT_THAT(
      judged.out,
      HasSubstr("first difference from profile reference: step 1, request a, group 0, column "
                "0: scheduler_block_ids: ours block 1, trace block 3 (rule: "
                "KVCacheManager.allocate_slots)"));
}

TEST(JudgeEngine, QuietPrintsTheSummaryOnly) {
  const ProgramResult judged = run_program("judge -q --engine reference " + trace_file("3"));
  EXPECT_EQ(judged.exit_code, 1) << judged.err;
  EXPECT_THAT(judged.out, HasSubstr("profile reference: differences in 1 of 1 trace"));
  EXPECT_THAT(judged.out, Not(HasSubstr("first difference")));
}

TEST(Judge, FindingsNameTheKnownBugAndTheCommandThatGoesOn) {
  const std::string trace = temporary_folder("judged_bug", {}) + "/t.jsonl";
  run_program("run scenarios/starved_request.json --engine reference --trace " + trace);
  const ProgramResult judged = run_program("judge " + trace);
  EXPECT_THAT(judged.out,
              HasSubstr("\n    this is known bug 48, skipped-step-forgets-accepted-count\n"));
  EXPECT_THAT(judged.out, HasSubstr("\nnext: hybridscope judge " + trace +
                                    " --filter 'starved request' --explain 4\n"));
  const auto json = nlohmann::json::parse(run_program("judge --json " + trace).out);
  EXPECT_EQ(json["traces"][0]["roots"][0]["cause"],
            "known bug 48, skipped-step-forgets-accepted-count");
}

TEST(JudgeEngine, WithoutAProfileNothingIsCompared) {
  const ProgramResult judged = run_program("judge --json " + trace_file("3"));
  EXPECT_EQ(judged.exit_code, 0) << judged.err;
  EXPECT_FALSE(nlohmann::json::parse(judged.out)["traces"][0].contains("first_difference"));
}

TEST(JudgeEngine, JsonHasTheFirstDifferenceOfEachTrace) {
  const ProgramResult judged = run_program("judge --json --engine reference " + trace_file("3"));
  const auto json = nlohmann::json::parse(judged.out);
  EXPECT_EQ(json["config"]["profile"], "reference");
  EXPECT_EQ(json["summary"]["differing_traces"], 1);
  const auto expected = nlohmann::json::parse(R"({"step": 1, "line": 2, "phase": "schedule",
    "decision": "scheduler_block_ids", "request": "a", "group": 0, "column": 0, "ours": "block 1",
    "trace": "block 3", "rule": "KVCacheManager.allocate_slots"})");
  EXPECT_EQ(json["traces"][0]["first_difference"], expected);
  const ProgramResult agreed = run_program("judge --json --engine reference " + trace_file("1"));
  EXPECT_TRUE(nlohmann::json::parse(agreed.out)["traces"][0]["first_difference"].is_null());
}

TEST(JudgeEngine, ATraceOfRunnerV2IsCompared) {
  const std::string told = R"("runner": "v2", )";
  const ProgramResult same = run_program("judge --engine safe " + trace_file("1", told));
  EXPECT_THAT(same.out, HasSubstr("profile safe: differences in 0 of 1 trace"));
  const ProgramResult other = run_program("judge --engine safe " + trace_file("3", told));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("ours block 1, trace block 3"));
}

// B has A's prompt of 40 tokens under another salt, C under B's, of which the trace does not tell.
TEST(JudgeEngine, HitsUnderAnUntoldPartOfTheKeyAreNotCompared) {
  const std::string scenario = temporary_file("salted.json", R"({"version": 1,
    "model": "tiny-mamba2", "settings": {"mamba_cache_mode": "align", "block_size": 8,
      "num_gpu_blocks_override": 60, "max_model_len": 96, "max_num_batched_tokens": 16},
    "requests": [
      {"id": "A", "prompt": {"tokens": 40, "share": "p", "share_tokens": 40}, "max_tokens": 4},
      {"id": "B", "prompt": {"tokens": 40, "share": "p", "share_tokens": 40}, "max_tokens": 4,
       "cache_salt": 7, "at_step": 12},
      {"id": "C", "prompt": {"tokens": 40, "share": "p", "share_tokens": 40}, "max_tokens": 4,
       "cache_salt": 7, "at_step": 24}]})");
  const std::string salted = temporary_file("salted.jsonl", "");
  ASSERT_EQ(run_program("run -q --trace " + salted + " " + scenario).exit_code, 0);
  std::string unsalted;
  std::ifstream lines(salted);
  for (std::string line; std::getline(lines, line);) {
    auto json = nlohmann::ordered_json::parse(line);
    if (json.contains("scheduler_output"))
      for (auto& admitted : json["scheduler_output"]["scheduled_new_reqs"])
        admitted.erase("cache_salt");
    unsalted += json.dump() + "\n";
  }
  const ProgramResult told = run_program("judge --engine safe " + salted);
  EXPECT_EQ(told.exit_code, 0) << told.out;
  EXPECT_THAT(told.out, Not(HasSubstr("cannot be compared")));
  const ProgramResult untold =
      run_program("judge --engine safe " + temporary_file("unsalted.jsonl", unsalted));
  EXPECT_EQ(untold.exit_code, 0) << untold.out;
  EXPECT_THAT(untold.out, HasSubstr("profile safe: differences in 0 of 1 trace"));
  EXPECT_THAT(untold.out, HasSubstr("hits of 2 requests cannot be compared"));
  EXPECT_THAT(untold.out, HasSubstr("request B: ours 32 tokens, trace 0"));
}

TEST(JudgeEngine, AnUnknownProfileIsAUsageError) {
  EXPECT_EQ(run_program("judge --engine fast " + trace_file("1")).exit_code, 2);
}

TEST(JudgeEngine, WordsOfAStepMakeNothingUpThatTheTraceDoesNotTell) {
  const ProgramResult judged = run_program("judge --explain 1 " + trace_file("1"));
  EXPECT_THAT(judged.out, HasSubstr("Step 1: 2 tokens of 1 request\n"));
  EXPECT_THAT(judged.out, HasSubstr("queues  the trace does not say\n"));
  EXPECT_THAT(judged.out, Not(HasSubstr("blocks are free after scheduling")));
}

// `hybridscope diff A.db B.db`: sessions of two files, paired by name.

using Json = nlohmann::json;

class TwoFiles : public testing::Test {
 protected:
  // The session of a run in which so many tokens of A are accepted in step 2.
  void record(const std::string& file, const std::string& name, std::int32_t accepted) {
    RunPlan plan = shipped_scenario("align_boundary_by_accepted_drafts");
    plan.script.front().accept.front().count = accepted;
    ASSERT_TRUE(record_run(plan, {.place = {folder_ / file, name}}).ok());
  }
  ProgramResult diff(const std::string& options = "") {
    return run_program("diff " + a_ + " " + b_ + " " + options);
  }

  TemporaryFolder folder_;
  std::string a_ = folder_ / "a.db";
  std::string b_ = folder_ / "b.db";
};

TEST_F(TwoFiles, EachPairIsInTheTableAndWhatOnlyOneFileHas) {
  record("a.db", "first", 2);
  record("a.db", "second", 2);
  record("a.db", "dropped", 2);
  record("b.db", "added", 2);
  record("b.db", "second", 1);
  record("b.db", "first", 2);
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("\nsecond: decisions differ, first in step 2\n  hybridscope diff " + a_ +
                        ":second " + b_ + ":second\n"));
  EXPECT_THAT(
      result.out,
      testing::EndsWith("\nsession  result            first step\n"
                        "first    same\n"
                        "second   decisions differ           2\n"
                        "dropped  only in A\n"
                        "added    only in B\n"
                        "\n"
                        "4 sessions: 1 same, 1 decisions differ, 1 only in A, 1 only in B\n"));
  const Json json = Json::parse(diff("--json").out);
  EXPECT_EQ(json.at("sessions").at(1).at("result"), "decisions differ");
  EXPECT_EQ(json.at("sessions").at(1).at("difference").at("first_divergence").at("step"), 2);
  EXPECT_EQ(json.at("results"), Json::parse(R"({"same": 1, "decisions differ": 1, "only in A": 1,
                                               "only in B": 1})"));
}

TEST_F(TwoFiles, EqualFilesAreExitCode0) {
  for (const char* name : {"first", "second"}) {
    record("a.db", name, 2);
    record("b.db", name, 2);
  }
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("\n2 sessions: 2 same\n"));
}

TEST_F(TwoFiles, TheCommandOfAPairHasTheOptionsThatWereGiven) {
  for (const char* file : {"a.db", "b.db"}) {
    record(file, "it's {one}", file[0] == 'a' ? 2 : 1);
    record(file, "two", 2);
  }
  const std::string quoted = ":it'\\''s {one}' ";
  const std::string pair = "  hybridscope diff '" + a_ + quoted + "'" + b_ + quoted;
  EXPECT_THAT(diff().out, HasSubstr(pair.substr(0, pair.size() - 1) + "\n"));
  EXPECT_THAT(diff("--ignore blocks --ignore 'request:a b' --limit 5 --all").out,
              HasSubstr(pair + "--ignore blocks --ignore 'request:a b' --limit 5 --all\n"));
  const ProgramResult requests = diff("--requests");
  EXPECT_THAT(requests.out, HasSubstr(pair + "--requests\n"));
  EXPECT_THAT(requests.out, ContainsRegex("\nit's \\{one\\}: totals differ, [0-9]+ differences? of "
                                          "what requests got in all\n"));
}

TEST_F(TwoFiles, FindingsAloneAreNoOtherDecisions) {
  const std::string scenario = temporary_file("faulty.json", faulty_scenario("faulty"));
  for (const char* name : {":first", ":second"})
    run_program("run -q " + scenario + " --record " + a_ + name);
  std::filesystem::copy_file(a_, b_);
  execute(b_, "DELETE FROM findings WHERE session = 1 AND step = 4");
  execute(b_, "UPDATE digests SET findings = findings + 1 WHERE session = 1 AND step = 4");
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("\nfirst: findings differ, first in step 4\n"));
  EXPECT_THAT(result.out, HasSubstr("\nfirst    findings differ           4\n"));
  EXPECT_THAT(result.out, HasSubstr("\n2 sessions: 1 same, 1 findings differ\n"));
}

TEST_F(TwoFiles, OneSessionEachIsComparedWhateverItsName) {
  record("a.db", "before", 2);
  record("b.db", "after", 2);
  const ProgramResult result = diff();
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("No difference."));
}

TEST_F(TwoFiles, WhatIsForTwoSessionsIsRefused) {
  record("a.db", "first", 2);
  record("a.db", "second", 2);
  record("b.db", "first", 2);
  for (const std::string& option : {std::string("--first"), "--html " + folder_ / "page.html"}) {
    const ProgramResult result = diff(option);
    EXPECT_EQ(result.exit_code, 2) << option;
    EXPECT_THAT(result.err, HasSubstr(" is for two sessions: name them")) << option;
  }
}

TEST(DiffOfWords, ASessionThatKeepsNoWordsIsNotTheSame) {
  const TemporaryFolder folder;
  const std::string suite =
      "run scenarios/plain_decode.json scenarios/graph_padding.json "
      "--weights scenarios/models/jargon-gdn --model tiny-gdn --record ";
  for (const char* file : {"a.db", "b.db"}) {
    const ProgramResult run = run_program(suite + folder / file);
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  }
  const std::string a = folder / "a.db:plain_decode";
  const std::string both = "diff " + a + " " + folder / "b.db:plain_decode";
  EXPECT_THAT(run_program(both).out, HasSubstr("The language model says the same in both."));
  EXPECT_THAT(run_program("sessions show " + a).out, Not(HasSubstr("none of its words are kept")));
  execute(folder / "b.db", "DELETE FROM speech");
  const ProgramResult one = run_program(both);
  EXPECT_THAT(one.out, Not(HasSubstr("says the same")));
  EXPECT_THAT(one.out,
              HasSubstr("B keeps no words of the language model: texts are not compared.\n"));
  EXPECT_THAT(run_program("sessions show " + folder / "b.db:plain_decode").out,
              HasSubstr("none of its words are kept\n"));
  EXPECT_THAT(run_program("diff " + folder / "a.db" + " " + folder / "b.db").out,
              HasSubstr("\n2 pairs: B keeps no words of the language model: texts are not "
                        "compared.\n"));
}

}  // namespace
}  // namespace hybridscope::test::judge_engine_test
