// Where `hybridscope run` stops and what it shows of states: --break, the first wrong state, and
// --state bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "sessions/breakpoint/break_fields.h"
#include "sessions/job/state_option.h"
#include "tests/cli/program.h"

namespace hybridscope::test::break_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

ProgramResult run_with(const std::string& options) {
  return run_program("run " HYBRIDSCOPE_SOURCE_DIR
                     "/scenarios/align_boundary_by_accepted_drafts.json --no-timings " +
                     options);
}

TEST(Break, StopsBehindTheFirstStepThatItHoldsForAndSaysWhy) {
  const ProgramResult run =
      run_with("--break 'copy.src_col==copy.dst_col && copy.accept_token_bias>0'");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("2 steps, 2 request-steps"));
  EXPECT_THAT(run.out, HasSubstr("stopped at step 2 by --break 'copy.src_col==copy.dst_col && "
                                 "copy.accept_token_bias>0': copy of A: src_col 0, dst_col 0, "
                                 "accept_token_bias 1"));
}

TEST(Break, HitsAreCounted) {
  EXPECT_EQ(run_with("--break row.row_class==verify --break-hits 2").err,
            "stopped at step 3 by --break 'row.row_class==verify': row of A: row_class verify, the "
            "run's last one\n");
  const ProgramResult run =
      run_with("--break row.row_class==verify --break finding --break-hits 9");
  EXPECT_THAT(run.out, Not(HasSubstr("stopped")));
  EXPECT_EQ(run.err,
            "--break 'row.row_class==verify': held in 2 steps\n--break 'finding': never held\n");
}

TEST(Break, WritesAreLoggedWhenTheyAreAskedFor) {
  EXPECT_THAT(run_with("--break 'block==2 && written && step>1'").out,
              HasSubstr("stopped at step 2"));
}

TEST(Break, AnExpressionThatCannotBeReadIsUsageAndMarked) {
  const ProgramResult run = run_with("--break 'copy.srccol == 1'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err,
            "hybridscope run: --break: no field is called copy.srccol, did you mean \"src_col\"?\n"
            "  copy.srccol == 1\n"
            "       ^~~~~~\n");
}

TEST(Break, IsForOneRun) {
  const ProgramResult run = run_program("run " HYBRIDSCOPE_SOURCE_DIR "/scenarios --break finding");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("--break is for one run"));
}

TEST(Break, HelpAndDocumentNameEveryKind) {
  const ProgramResult help = run_program("run --break help");
  EXPECT_EQ(help.exit_code, 0);
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/docs/debug.md");
  std::stringstream text;
  text << file.rdbuf();
  for (const BreakKind& kind : break_kinds()) {
    if (!kind.name.empty()) {
      EXPECT_THAT(text.str(), HasSubstr(std::string(kind.name) + "."));
    }
    for (const BreakField& field : kind.fields) EXPECT_THAT(help.out, HasSubstr(field.name));
  }
}

// What ends a run, or opens a report, is the first wrong state: known bug 9 of a release, whose
// counts are moved twice in step 4.

const std::string kRelease = " --engine vllm-0.33.0 --runner v1 --no-timings ";

std::string scenario_file() {
  nlohmann::json scenario = nlohmann::json::parse(
      read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                "/scenarios/bugs/align-counts-permuted-twice.json"))["scenario"];
  scenario["name"] = "permuted";
  scenario.erase("expect");
  return temporary_file("permuted.json", scenario.dump());
}

TEST(FirstWrongState, EndsARunThatBreaksAtFindings) {
  const ProgramResult run = run_program("run " + scenario_file() + kRelease + "--break finding");
  EXPECT_THAT(
      run.out,
      AllOf(HasSubstr("foreign-row-datum: step 4 D row 0: the accepted count is 1, the "
                      "request's is 3 "),
            HasSubstr("this is known bug 9, align-counts-permuted-twice\n"),
            HasSubstr("stopped at step 4 by --break 'finding'"), HasSubstr("--explain 4\n")));
}

TEST(FirstWrongState, IsNamedInJunitWithItsStepAndBug) {
  const std::string report = temporary_file("permuted.xml", "");
  run_program("run " + scenario_file() + kRelease + "--junit " + report);
  const std::string xml = read_file(report);
  EXPECT_THAT(xml, ContainsRegex("<failure type=\"foreign-row-datum\" message=\"[^\"]*"
                                 "foreign-row-datum: step 4 D row 0: [^\"]*"
                                 "this is known bug 9, align-counts-permuted-twice; "));
  EXPECT_THAT(xml, ContainsRegex("<failure type=\"running-state-wrong\" message=\""
                                 "running-state-wrong: step 4 D [^\"]*; follows from step 4\""));
  EXPECT_THAT(xml, AllOf(HasSubstr(" --explain 4\n"), Not(HasSubstr(" --explain 5\n"))));
}

// The warning about requests that wait for a block's worth of budget, in both outputs of `run`.

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

// `run --state bytes` as a user sees it.

constexpr const char* kScenario = " scenarios/align_boundary_by_accepted_drafts.json ";
constexpr const char* kLarge = " scenarios/several_groups.json ";  // 12 layers of 52.5 MiB

nlohmann::json json_of(const std::string& arguments) {
  const ProgramResult run = run_program("run --json --no-timings " + arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out);
}

TEST(RunInBytes, SaysWhatWasHeldAndProven) {
  const ProgramResult run = run_program(std::string("run --state bytes --no-timings") + kScenario);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              ContainsRegex("state in bytes \\(cpu, this machine\\): 2 of 2 layers per group, 16 "
                            "blocks, 128 KiB; [0-9,]+ elements verified, digest [0-9a-f]{16}\n"));
  EXPECT_THAT(run.out, HasSubstr("no findings: every block held what it should"));
}

TEST(RunInBytes, JsonSaysTheSame) {
  const auto state = json_of(std::string("--state bytes") + kScenario).at("state");
  EXPECT_EQ(state.at("fidelity"), "bytes");
  EXPECT_EQ(state.at("backend"), "cpu");
  EXPECT_TRUE(state.at("device").is_null());
  EXPECT_EQ(state.at("layers"), 2);
  EXPECT_EQ(state.at("of_layers"), 2);
  EXPECT_EQ(state.at("blocks"), 16);
  EXPECT_EQ(state.at("bytes"), 131072);
  EXPECT_GT(state.at("elements_verified"), 0);
  EXPECT_EQ(state.at("digest").get<std::string>().size(), 16u);
  EXPECT_EQ(state.at("allocations"), 0);
  EXPECT_EQ(state.at("waits"), 0);
}

TEST(RunInBytes, StepsThatAllocatedOrWaitedAreTold) {
  const StateInBytes state{.backend = "cuda",
                           .device = "device 0: a GPU",
                           .num_layers = 2,
                           .all_layers = 2,
                           .num_blocks = 16,
                           .num_bytes = 131072,
                           .num_elements_verified = 5,
                           .digest = 0xA1,
                           .delays = {.num_allocations = 2, .num_waits = 7}};
  EXPECT_EQ(
      format_state_in_bytes(state),
      "state in bytes (cuda, device 0: a GPU): 2 of 2 layers per group, 16 blocks, 128 KiB; 5 "
      "elements verified, digest 00000000000000a1; the steps allocated 2 times and waited 7 "
      "times for the device\n");
}

TEST(RunInBytes, UnlessAskedForStateIsSymbolic) {
  for (const char* options : {"", "--state symbolic", "--backend cpu"})
    EXPECT_EQ(json_of(std::string(options) + kScenario).at("state"),
              nlohmann::json({{"fidelity", "symbolic"}}))
        << options;
}

// Fixed for ever: compared across backends, machines and releases.
TEST(RunInBytes, TheDigestIsTheSameEachTime) {
  EXPECT_EQ(json_of(std::string("--state bytes") + kScenario).at("state").at("digest"),
            "c33b44e5490d7725");
}

// What is looked at does not change what is there.
TEST(RunInBytes, CheckAllLooksAtEveryBlock) {
  const auto of_step = json_of(std::string("--state bytes") + kScenario).at("state");
  const auto of_all = json_of(std::string("--state bytes --check all") + kScenario).at("state");
  EXPECT_GT(of_all.at("elements_verified"), of_step.at("elements_verified"));
  EXPECT_EQ(of_all.at("digest"), of_step.at("digest"));
}

// Bytes say nothing of decisions: everything else of the report stays.
TEST(RunInBytes, TheRestOfTheReportIsThatOfASymbolicRun) {
  auto symbolic = json_of(kScenario);
  auto bytes = json_of(std::string("--state bytes") + kScenario);
  symbolic.erase("state");
  bytes.erase("state");
  EXPECT_EQ(bytes, symbolic);
}

TEST(RunInBytes, WrongMetadataIsFoundAsInASymbolicRunAndBytesAreAsWrong) {
  const char* faulty =
      " scenarios/starved_request.json --policies-accepted-count-owner "
      "persistent_row --json --no-timings";
  const auto symbolic = nlohmann::json::parse(run_program(std::string("run") + faulty).out);
  const ProgramResult run = run_program(std::string("run --state bytes --check all") + faulty);
  EXPECT_EQ(run.exit_code, 1);
  const auto rules = nlohmann::json::parse(run.out).at("summary").at("findings_by_rule");
  EXPECT_TRUE(rules.contains("running-state-wrong"));
  EXPECT_FALSE(rules.contains("state-bytes-wrong"));
  EXPECT_TRUE(symbolic.at("summary").at("findings_by_rule").contains("running-state-wrong"));
}

TEST(RunInBytes, GoesTogetherWithStepsExplainBreakAndTrace) {
  for (const char* options : {"--steps 2", "--explain 2", "--break finding", "--jsonl"})
    EXPECT_EQ(run_program(std::string("run --state bytes") + kScenario + options).exit_code, 0)
        << options;
  const std::string trace = temporary_file("state_bytes_trace.jsonl", "");
  EXPECT_EQ(run_program("run --state bytes -q --trace '" + trace + "'" + kScenario).exit_code, 0);
  EXPECT_EQ(run_program("judge '" + trace + "'").exit_code, 0);
}

TEST(RunInBytes, TrafficIsHeldInBytesWhereItsPoolFits) {
  const ProgramResult run = run_program(
      "run --state bytes --traffic synthetic --limit 20 --model tiny-gdn "
      "--num-speculative-tokens 2 --num-blocks 500 --max-num-seqs 8 --block-size 8 -q");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("500 blocks"));
}

TEST(RunInBytes, SuitesHoldEachScenario) {
  const ProgramResult run = run_program(
      "run --state bytes --json --no-timings scenarios/plain_decode.json "
      "scenarios/chunked_prefill.json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  for (const auto& scenario : json.at("scenarios"))
    EXPECT_EQ(scenario.at("state").at("fidelity"), "bytes");
}

TEST(RunInBytes, RecordedItIsASessionLikeAnyOther) {
  const std::string folder = temporary_folder("state_bytes_sessions", {});
  const std::string place = "'" + folder + "/runs.db:bytes'";
  EXPECT_EQ(run_program("run --state bytes --record " + place + kScenario).exit_code, 0);
  EXPECT_EQ(run_program("sessions rerun " + place).exit_code, 0);
}

TEST(RunInBytes, KeepsTheFirstLayersOfEachGroup) {
  const auto state = json_of(std::string("--state bytes --layers 1") + kLarge).at("state");
  EXPECT_EQ(state.at("layers"), 1);
  EXPECT_EQ(state.at("of_layers"), 12);
  EXPECT_EQ(state.at("bytes"), 55050240);
}

TEST(RunInBytes, WhatDoesNotFitIsRefusedBeforeTheFirstStep) {
  const ProgramResult run =
      run_program(std::string("run --state bytes --layers 12 --state-memory 256MiB") + kLarge);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, IsEmpty());
  EXPECT_EQ(
      run.err,
      "hybridscope run: state in bytes needs 630 MiB (12 of 12 layers per group, 48 blocks of "
      "1.1 MiB), more than the 256 MiB of --state-memory: --layers 4 needs 210 MiB\n");
}

// A million blocks of 12 layers are 12 TiB.
TEST(RunInBytes, TheDefaultIsAShareOfTheFreeMemory) {
  const ProgramResult run = run_program(
      "run --state bytes --traffic synthetic --limit 1 --model qwen3-next-80b-a3b "
      "--num-blocks 1000000 --max-num-seqs 8 --max-model-len 262144");
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("that are half of the free memory (--state-memory): --layers"));
}

TEST(RunInBytes, OneScenarioThatDoesNotFitDoesNotEndASuite) {
  const ProgramResult run = run_program(
      std::string("run --state bytes --state-memory 1MiB scenarios/plain_decode.json") + kLarge);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.out, HasSubstr("more than the 1.0 MiB of --state-memory"));
  EXPECT_THAT(run.out, HasSubstr("2 scenarios: 1 ok, 1 environment"));
  EXPECT_THAT(run.out, HasSubstr("reproduce: hybridscope run scenarios/several_groups.json --state "
                                 "bytes --state-memory 1MiB\n"));
}

TEST(RunInBytes, OptionsThatContradictEachOtherAreUsageErrors) {
  const auto refusal = [](const std::string& options) {
    const ProgramResult run = run_program("run " + options + kScenario);
    EXPECT_EQ(run.exit_code, 2) << options;
    EXPECT_THAT(run.out, IsEmpty()) << options;
    return run.err;
  };
  EXPECT_THAT(refusal("--backend cuda --state symbolic"),
              HasSubstr("--backend cuda keeps state in bytes, --state says symbolic"));
  EXPECT_THAT(refusal("--device 1"), HasSubstr("--device is for --backend cuda"));
  EXPECT_THAT(refusal("--state bytes --device 0"), HasSubstr("--device is for --backend cuda"));
  EXPECT_THAT(refusal("--state-memory 1GiB"), HasSubstr("--state-memory is for --state bytes"));
  EXPECT_THAT(refusal("--state bytes --twin"),
              HasSubstr("--twin keeps no state in bytes: leave out --state bytes"));
  refusal("--state fuzzy");
  refusal("--backend tpu");
  refusal("--backend cuda --device -1");
  refusal("--state bytes --state-memory plenty");
  refusal("--state bytes --state-memory 0");
  refusal("--layers 0");
}

TEST(RunInBytes, HelpShowsHowToAskForIt) {
  const std::string help = run_program("run --help").out;
  EXPECT_THAT(help, HasSubstr("run scenarios/several_groups.json --state bytes"));
  for (const char* option : {"--state ", "--backend ", "--device ", "--state-memory ", "--layers"})
    EXPECT_THAT(help, HasSubstr(option));
}

// Without a usable GPU nothing is simulated; with one the digest is the CPU's.
TEST(RunOnTheGpu, IsTheSameOrIsRefused) {
  const ProgramResult run =
      run_program(std::string("run --backend cuda --json --no-timings") + kScenario);
  if (run.exit_code == 4) {
    EXPECT_THAT(run.out, IsEmpty());
    EXPECT_THAT(run.err, HasSubstr("CUDA"));
    return;
  }
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto state = nlohmann::json::parse(run.out).at("state");
  EXPECT_EQ(state.at("backend"), "cuda");
  EXPECT_EQ(state.at("digest"),
            json_of(std::string("--state bytes") + kScenario).at("state").at("digest"));
}

}  // namespace
}  // namespace hybridscope::test::break_test
