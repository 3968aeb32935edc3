#include "sessions/export/markdown_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hybridscope::markdown_report_test
