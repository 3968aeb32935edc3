#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>

#include "sessions/export/fault_places.h"
#include "sessions/export/markdown_report.h"
#include "sessions/export/vllm_flags.h"
#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::markdown_report_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Scenario scenario_of(const std::string& name) {
  return read_scenario_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json")
      .value();
}

// C accepts two tokens in step 2 and is left out of step 3; its row forgets that.
ExportedRun starved() {
  Scenario scenario = scenario_of("starved_request");
  scenario.settings.engine = EngineProfile::reference;
  return make_exported_run(scenario, "s.json").value();
}

TEST(MarkdownReport, TheFirstWrongStateComesFirst) {
  const std::string report = markdown_report(starved(), "hybridscope run s.json --explain 4");
  EXPECT_THAT(report, HasSubstr("# starved request\n"));
  EXPECT_THAT(
      report,
      HasSubstr(
          "## First wrong state\n\nWhat went wrong first: C's accepted count became 1 when it "
          "was skipped in step 3; its own is 2, of step 2.\n\nrunning-state-wrong: step 4 C row 1 "
          "group "
          "1 (mamba2) column 0: block 5 holds the state of 3 tokens of C, "
          "expected 4; written by the decode of step 2"));
  EXPECT_LT(report.find("## First wrong state"), report.find("## Steps"));
}

// What step 4 read: left by step 2, which went on from the prompt's state.
TEST(MarkdownReport, TheChainBeginsAtTheWriteThatWasRead) {
  EXPECT_THAT(starved().error->chain,
              ElementsAre("step 2: decode of C left the temporal state of 3 tokens in group 1 "
                          "(mamba2) column 0, block 5",
                          "step 1: prefill of C left the temporal state of 2 tokens in group 1 "
                          "(mamba2) column 0, block 5"));
}

TEST(MarkdownReport, ItSaysWhereTheFaultLiesAndWhichTestRunsThatPart) {
  EXPECT_THAT(markdown_report(starved(), ""),
              HasSubstr("\n## Where the fault lies\n\n- running-state-wrong of C (step 4, 6 in "
                        "all), label-mismatch of C (step 6)"));
  EXPECT_THAT(markdown_report(starved(), ""),
              HasSubstr(": the input batch (`v1/worker/gpu_input_batch.py, "
                        "InputBatch.add_request`, known bug 48). The test of hybridscope export "
                        "--as runner-test runs it.\n"));
}

TEST(MarkdownReport, FlagsAreThoseThatTheEngineStartedWith) {
  const std::string report = markdown_report(starved(), "");
  EXPECT_THAT(report, HasSubstr("## Flags\n\nModel tiny-mamba2, profile reference.\n\n```sh\n"
                                "--mamba-cache-mode align \\\n--block-size 8 \\\n"));
  EXPECT_THAT(report, HasSubstr("--async-scheduling \\\n"));
  EXPECT_THAT(report, HasSubstr("\n--speculative-config "
                                "'{\"method\":\"mtp\",\"num_speculative_tokens\":1}'"));
}

TEST(MarkdownReport, EveryRowOfEveryStepIsInTheTable) {
  const std::string report = markdown_report(starved(), "");
  EXPECT_THAT(report, HasSubstr("| 1 | A | prefill | 0 | 0 | 6 | 0 | 1 | 1 1 |  |  |  |\n"
                                "| 1 | C | prefill | 0 | 0 | 2 | 0 | 1 | 1 1 |  |  |  |\n"));
  EXPECT_THAT(report,
              HasSubstr("| 3 | A | verify |  | 7 | 2 | 1 | 1 | 1 1 1 | 0 > 1 | 1 > 0 |  |\n"));
  EXPECT_THAT(report, HasSubstr("| 4 | A | verify |  | 8 | 2 | 1 | 2 | 1 1 1 |  |  |  |\n"
                                "| 4 | C | verify |  | 4 | 2 | 1 | 2 | 1 1 |  |  | 2 |\n"));
}

TEST(MarkdownReport, TheScenarioAndTheCommandAreInIt) {
  const std::string report = markdown_report(starved(), "hybridscope run s.json --explain 4");
  EXPECT_THAT(report, HasSubstr("```\nhybridscope run s.json --explain 4\n```\n"));
  EXPECT_THAT(report, HasSubstr("```json\n{\n  \"version\": 1,\n  \"name\": \"starved request\""));
}

TEST(MarkdownReport, AHealthyRunSaysSo) {
  const ExportedRun run = make_exported_run(scenario_of("plain_decode"), "s.json").value();
  const std::string report = markdown_report(run, "");
  EXPECT_THAT(report, HasSubstr("No error was found"));
  EXPECT_THAT(report, Not(HasSubstr("## All findings")));
}

TEST(MarkdownReport, NamesAreNoMarkdown) {
  Scenario scenario = scenario_of("plain_decode");
  scenario.name = "a|b <c>\n# d";
  scenario.requests[0].id = "A|*B*";
  scenario.script.clear();
  const std::string report = markdown_report(make_exported_run(scenario, "s.json").value(), "");
  EXPECT_THAT(report, HasSubstr("# a\\|b \\<c\\> \\# d\n"));
  EXPECT_THAT(report, HasSubstr("| 1 | A\\|\\*B\\* | prefill |"));
}

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Scenario faulty(const std::string& bug) {
  Scenario scenario = faulty_scenario(shipped_bug(bug).value());
  scenario.expect = {};
  return scenario;
}

std::vector<ExportedFault> faults(const Scenario& scenario) {
  return faults_of(scenario, "s.json", CheckScope::step).value();
}

TEST(FaultPlaces, APartIsToldByFileAndFunction) {
  EXPECT_EQ(part_of_function("v1/worker/gpu_input_batch.py, InputBatch.add_request").words,
            "the input batch");
  EXPECT_EQ(part_of_function("v1/worker/gpu_model_runner.py, GPUModelRunner._prepare_inputs").test,
            PartTest::runner_test);
  EXPECT_EQ(
      part_of_function("v1/worker/gpu_model_runner.py, GPUModelRunner._is_uniform_decode").test,
      PartTest::none);
  EXPECT_EQ(
      part_of_function("v1/core/single_type_kv_cache_manager.py, MambaManager.cache_blocks").test,
      PartTest::pytest);
  EXPECT_EQ(part_of_function("vLLM v1/core/sched/scheduler.py _mamba_block_aligned_split").test,
            PartTest::pytest);
  EXPECT_EQ(part_of_function("v1/core/sched/scheduler.py, Scheduler.schedule").words,
            "the scheduler");
  EXPECT_EQ(part_of_function("docs/trace-format.md, States").words, "a part without a test");
}

// How many of the catalogue's bugs each test runs the part of.
TEST(FaultPlaces, EveryKnownBugHasAPart) {
  std::map<PartTest, int> bugs;
  for (const KnownBug& bug : known_bug_table()) {
    const VllmPart part = part_of_function(shipped_bug(bug.id).value().function);
    EXPECT_NE(part.words, "a part without a test") << bug.id;
    ++bugs[part.test];
  }
  EXPECT_EQ(bugs[PartTest::pytest], 6);
  EXPECT_EQ(bugs[PartTest::runner_test], 8);
}

// C comes back in step 4 with a count of 1 instead of 2.
TEST(FaultPlaces, AFindingIsCausedByTheBugWhosePolicyIsSet) {
  const std::vector<ExportedFault> found = faults(faulty("skipped-step-forgets-accepted-count"));
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_EQ(found[0].rule, Rule::running_state_wrong);
  EXPECT_EQ(found[0].request, "C");
  EXPECT_EQ(found[0].first_step, 4);
  EXPECT_EQ(found[0].bug, "known bug 48");
  EXPECT_EQ(found[0].function, "v1/worker/gpu_input_batch.py, InputBatch.add_request");
}

// vLLM 0.33.0 has two dozen policies of known bugs; one of them causes it.
TEST(FaultPlaces, OfAllBugsOfAReleaseOneIsNamed) {
  Scenario scenario = faulty("skipped-step-forgets-accepted-count");
  scenario.settings.policies = {};
  scenario.settings.engine = parse_engine_profile("vllm-0.33.0").value();
  scenario.settings.runner = ModelRunner::v1;
  std::vector<std::string> bugs;
  for (const ExportedFault& fault : faults(scenario)) bugs.push_back(fault.bug);
  EXPECT_THAT(bugs, Contains("known bug 48"));
  EXPECT_THAT(fault_places(faults(scenario)), SizeIs(1));
}

TEST(FaultPlaces, ARunWithoutFindingsHasNone) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/plain_decode.json";
  EXPECT_THAT(faults(read_scenario_file(file).value()), IsEmpty());
}

TEST(FaultPlaces, ANoteSaysWhichTestRunsThePart) {
  const std::vector<ExportedFault> fault = {
      {.rule = Rule::running_state_wrong,
       .request = "C",
       .first_step = 4,
       .count = 3,
       .function = "v1/worker/gpu_input_batch.py, InputBatch.add_request",
       .bug = "known bug 48"}};
  EXPECT_THAT(
      fault_notes(fault, PartTest::pytest, true),
      ElementsAre("The fault behind running-state-wrong of C (step 4, 3 in all) lies in the input "
                  "batch (v1/worker/gpu_input_batch.py, InputBatch.add_request; known bug 48), "
                  "which this test does not run: it passes with the fault as well as without. The "
                  "test of hybridscope export --as runner-test runs it."));
  EXPECT_THAT(fault_notes(fault, PartTest::pytest, false),
              ElementsAre(HasSubstr("Only a runner test runs it, which these settings do not")));
  EXPECT_THAT(fault_notes(fault, PartTest::runner_test, true), IsEmpty());
}

TEST(FaultPlaces, NoTestRunsKernels) {
  const std::vector<ExportedFault> fault = {
      {.rule = Rule::label_mismatch,
       .first_step = 2,
       .count = 1,
       .function = "model_executor/layers/mamba/ops/causal_conv1d.py, causal_conv1d_update"}};
  EXPECT_THAT(fault_notes(fault, PartTest::runner_test, true),
              ElementsAre("The fault behind label-mismatch (step 2) lies in the model's layers and "
                          "kernels (model_executor/layers/mamba/ops/causal_conv1d.py, "
                          "causal_conv1d_update), which this test does not run: it passes with the "
                          "fault as well as without. No exported test runs it."));
}

VllmFlags flags_of(const std::string& settings) {
  const std::string text = R"({"version": 1, "model": "tiny-mamba2", "settings": {)" + settings +
                           R"(}, "requests": [{"id": "A", "prompt": 6}]})";
  const auto scenario = parse_scenario({.text = text, .file = "s.json"});
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return vllm_flags(make_exported_run(scenario.value(), "s.json").value());
}

TEST(VllmFlags, WhatTheEngineStartedWithIsThereEvenIfNobodySetIt) {
  const VllmFlags flags =
      flags_of(R"("mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 32,
                  "max_model_len": 64)");
  EXPECT_THAT(flags.flags, ElementsAre("--mamba-cache-mode align", "--block-size 8",
                                       "--num-gpu-blocks-override 32", "--max-model-len 64",
                                       "--max-num-seqs 32", "--max-num-batched-tokens 8192",
                                       "--enable-prefix-caching", "--async-scheduling"));
  EXPECT_THAT(flags.variables, IsEmpty());
  EXPECT_THAT(flags.others, IsEmpty());
}

TEST(VllmFlags, AreWrittenForAShell) {
  const VllmFlags flags = flags_of(
      R"("num_gpu_blocks_override": 32, "async_scheduling": false, "enable_chunked_prefill": true,
         "speculative_config": {"method": "mtp", "num_speculative_tokens": 2},
         "cudagraph_mode": "FULL_DECODE_ONLY", "cudagraph_capture_sizes": [3, 6])");
  for (const char* flag : {"--no-async-scheduling", "--enable-chunked-prefill",
                           R"(--speculative-config '{"method":"mtp","num_speculative_tokens":2}')",
                           R"(--compilation-config '{"cudagraph_mode":"FULL_DECODE_ONLY"}')",
                           "--cudagraph-capture-sizes 3 6"})
    EXPECT_THAT(flags.flags, Contains(flag));
}

TEST(VllmFlags, WhatVllmTakesAsAVariableOrNotAtAllIsKeptApart) {
  const VllmFlags flags = flags_of(
      R"("num_gpu_blocks_override": 32, "runner": "v2", "ssm_conv_state_layout": "DS", "seed": 7,
         "policies": {"no_draft_step": "column_zero"})");
  EXPECT_THAT(flags.variables,
              ElementsAre("VLLM_SSM_CONV_STATE_LAYOUT=DS", "VLLM_USE_V2_MODEL_RUNNER=1"));
  EXPECT_THAT(flags.others, ElementsAre("seed 7", R"(policies {"no_draft_step":"column_zero"})"));
}

}  // namespace

}  // namespace hybridscope::markdown_report_test
