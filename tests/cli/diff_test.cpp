// `hybridscope diff` as a user calls it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sessions/job/diff_report.h"
#include "tests/cli/program.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::diff_test {
namespace {

using test::ProgramResult;
using test::run_program;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kVerifyWindow =
    "diff --scenario scenarios/prompt_as_long_as_a_verify_window.json ";

// B accepts no draft in step 2, A one: runs.db with the sessions "one" and "none".
class RecordedPair {
 public:
  explicit RecordedPair(RecordLevel level_of_none = RecordLevel::full) {
    for (const bool accepts : {true, false}) {
      RunPlan plan = test::shipped_scenario("align_boundary_by_accepted_drafts");
      plan.script.front().accept.front().count = accepts ? 2 : 1;
      test::Recording recording{.place = {file_, accepts ? "one" : "none"},
                                .level = accepts ? RecordLevel::full : level_of_none};
      EXPECT_TRUE(test::record_run(plan, recording).ok());
    }
  }
  std::string place(const std::string& name) const { return file_ + ":" + name; }
  const std::string& file() const { return file_; }

 private:
  test::TemporaryFolder folder_;
  std::string file_ = folder_ / "runs.db";
};

std::size_t widest_line(const std::string& text) {
  std::istringstream lines(text);
  std::size_t widest = 0;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("  hybridscope ")) widest = std::max(widest, line.size());
  return widest;
}

TEST(DiffCommand, TwoRecordingsOfOneRunDoNotDiffer) {
  const RecordedPair first;
  const RecordedPair again;
  const ProgramResult result = run_program("diff " + first.place("one") + " " + again.place("one"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("No difference."));
}

TEST(DiffCommand, ShowsTheFirstDivergenceWithItsDecisionsAndHowToLookFurther) {
  const RecordedPair pair;
  const ProgramResult result = run_program("diff " + pair.place("one") + " " + pair.place("none"));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("First divergence: step 2, request A\n"));
  EXPECT_THAT(result.out, HasSubstr("A: post-copy (vLLM v1/worker/mamba_utils.py "
                                    "postprocess_mamba_fused_kernel)"));
  EXPECT_THAT(result.out,
              HasSubstr("running = c + q - d = 6 + 2 - 1 = 7; new = running + a - 1 = 7 + 2 - 1 = "
                        "8;"));
  EXPECT_THAT(result.out, HasSubstr("new = running + a - 1 = 7 + 1 - 1 = 7;"));
  EXPECT_THAT(result.out, HasSubstr("  hybridscope sessions show " + pair.place("one") +
                                    " --step 2 --explain\n"));
  EXPECT_THAT(result.out, HasSubstr("A has ended; B goes on to step 4 (1 step)."));
  EXPECT_LE(widest_line(result.out), 100U);
}

TEST(DiffCommand, OfLevelCountsOnlyWhatIsKeptIsTold) {
  const RecordedPair pair(RecordLevel::counts);
  const ProgramResult result = run_program("diff " + pair.place("one") + " " + pair.place("none"));
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, Not(HasSubstr("in 0 rows")));
  EXPECT_THAT(result.out,
              HasSubstr("sessions show " + pair.place("one") + " --step 2 --explain\n"));
  EXPECT_THAT(result.out, HasSubstr("sessions show " + pair.place("none") + " --step 2\n"));
  EXPECT_THAT(
      run_program(std::string(kVerifyWindow) + "--engine safe --engine reference --level counts")
          .out,
      AllOf(HasSubstr("graph dispatch"), Not(HasSubstr("in 0 rows"))));
}

TEST(DiffCommand, JsonHasTheFirstDivergenceAndCountsEverything) {
  const RecordedPair pair;
  const ProgramResult result =
      run_program("diff " + pair.place("one") + " " + pair.place("none") + " --json --limit 1");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const Json json = Json::parse(result.out);
  EXPECT_EQ(json["comparable"], "steps");
  EXPECT_EQ(json["first_divergence"]["step"], 2);
  EXPECT_EQ(json["first_divergence"]["requests"][0]["request"], "A");
  const Json expected = {
      {"field", "rows.num_sampled_tokens"}, {"section", "rows"}, {"a", 2}, {"b", 1}};
  EXPECT_EQ(json["first_divergence"]["requests"][0]["fields"][1], expected);
  EXPECT_EQ(json["summary"]["num_steps_that_differ"], 2);
  EXPECT_EQ(json["summary"]["by_field"]["rows.num_sampled_tokens"], 2);
  EXPECT_EQ(json["shown"], 1);
  EXPECT_EQ(json["total"], 3);
}

TEST(DiffCommand, RunsAScenarioUnderTwoProfiles) {
  const ProgramResult result =
      run_program(std::string(kVerifyWindow) + "--engine safe --engine reference");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("First divergence: step 1\n"));
  EXPECT_THAT(result.out, HasSubstr("policies/uniform_decode_test"));
  EXPECT_THAT(result.out, HasSubstr("graph dispatch (vLLM v1/cudagraph_dispatcher.py dispatch)"));
  EXPECT_THAT(result.out, HasSubstr("Findings of B alone"));
  EXPECT_THAT(result.out, HasSubstr("stale-persistent-array: step 1"));
  EXPECT_THAT(result.out,
              HasSubstr("  hybridscope run scenarios/prompt_as_long_as_a_verify_window.json "
                        "--engine reference --explain 1\n"));
  EXPECT_LE(widest_line(result.out), 100U);
}

TEST(DiffReport, ADecisionThatReadsAlikeIsPrintedOnceWithTheFieldThatDiffers) {
  DiffReport report;
  report.collected.steps = {{.step = 2, .fields = {}}};
  report.collected.decisions = {{.request = "A",
                                 .subject = "schedule",
                                 .source = "",
                                 .a = "running: 1 tokens (0 of 0 drafts) behind c = 6 of 7 known",
                                 .b = "running: 1 tokens (0 of 0 drafts) behind c = 6 of 7 known",
                                 .differs = "scheduled.num_output_placeholders: A 1, B 3"}};
  EXPECT_THAT(format_diff(report),
              HasSubstr("  A: schedule\n"
                        "    both  running: 1 tokens (0 of 0 drafts) behind c = 6 of 7 known\n"
                        "    but   scheduled.num_output_placeholders: A 1, B 3\n"));
}

TEST(DiffCommand, ALongValueGoesOnInTheNextLine) {
  const ProgramResult result =
      run_program(std::string(kVerifyWindow) + "--engine safe --engine reference");
  EXPECT_THAT(result.out, HasSubstr("  policies/all_mode_speculation   "
                                    "remembered_column_and_boundary_    "
                                    "full_steps_remembered_no_copies\n" +
                                    std::string(34, ' ') + "copies\n"));
}

TEST(DiffCommand, AllTellsTheFieldsOfLaterStepsToo) {
  const std::string command = std::string(kVerifyWindow) + "--engine safe --engine reference";
  EXPECT_THAT(run_program(command).out, Not(HasSubstr("\nstep 5\n")));
  EXPECT_THAT(run_program(command + " --all").out, HasSubstr("\nstep 5\n"));
}

TEST(DiffCommand, IgnoredSectionsDoNotCount) {
  const std::string command = "diff --scenario scenarios/v2_slots.json --b runner=v1 ";
  EXPECT_EQ(run_program(command).exit_code, 1);
  const ProgramResult result = run_program(command + "--ignore layout --ignore metadata");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr("Ignored: layout, metadata"));
}

TEST(DiffCommand, OtherModesAreComparedByRequest) {
  const std::string command = "diff --scenario scenarios/shared_prefix_align.json --b mode=none";
  const ProgramResult result = run_program(command);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("Steps are not compared: the modes differ (align and none)"));
  EXPECT_THAT(result.out, HasSubstr("num_hit_tokens"));
  const Json json = Json::parse(run_program(command + " --json").out);
  EXPECT_EQ(json["comparable"], "requests");
  EXPECT_GT(json["total"], 0);
}

TEST(DiffCommand, RequestsCanBeComparedForAnyTwoRuns) {
  const ProgramResult result =
      run_program(std::string(kVerifyWindow) + "--engine safe --engine safe --requests");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("No difference in what 2 requests got."));
}

TEST(DiffCommand, ComparingRequestsRefusesRulesAboutSteps) {
  const std::string requests = std::string(kVerifyWindow) + "--engine safe --engine safe ";
  const ProgramResult asked = run_program(requests + "--requests --ignore blocks");
  EXPECT_EQ(asked.exit_code, 2);
  EXPECT_THAT(asked.err, HasSubstr("--ignore blocks: what each request got in all is compared "
                                   "(--requests), of which only request:NAME can be left out"));
  const ProgramResult forced = run_program(
      "diff --scenario scenarios/shared_prefix_align.json --b mode=none --ignore step:5");
  EXPECT_EQ(forced.exit_code, 2);
  EXPECT_THAT(forced.err, HasSubstr("is compared (the modes differ (align and none)"));
  EXPECT_EQ(run_program(requests + "--requests --ignore request:A").exit_code, 0);
}

Json data_of_page(const std::string& html) {
  const std::string begin = "id=\"diff-data\">";
  const std::size_t from = html.find(begin) + begin.size();
  return Json::parse(html.substr(from, html.find("</script>", from) - from));
}

TEST(DiffCommand, APageHasWhatJsonHasBesideTheTextForPeople) {
  const RecordedPair pair;
  const std::string command = "diff " + pair.place("one") + " " + pair.place("none");
  const std::string page = test::temporary_folder("diff_page", {}) + "/diff.html";
  const ProgramResult result = run_program(command + " --html " + page);
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_EQ(result.out, run_program(command).out);
  Json data = data_of_page(test::read_file(page));
  EXPECT_THAT(data["program"].get<std::string>(), ::testing::StartsWith("hybridscope "));
  data.erase("program");
  EXPECT_EQ(data, Json::parse(run_program(command + " --json").out));
  const ProgramResult printed = run_program(command + " --html -");
  EXPECT_EQ(printed.exit_code, 1);
  EXPECT_EQ(printed.out, test::read_file(page));
  EXPECT_EQ(printed.err, result.out);
}

TEST(DiffCommand, APageKeepsNoMoreStepsThanTheLimit) {
  const ProgramResult result =
      run_program("diff --scenario scenarios/v2_slots.json --b runner=v1 --limit 1 --html -");
  const Json data = data_of_page(result.out);
  EXPECT_EQ(data["differences"].size(), 1U);
  EXPECT_EQ(data["total"], 2);
}

TEST(DiffCommand, WithoutADifferenceAPageIsWrittenToo) {
  const std::string page = test::temporary_folder("diff_equal", {}) + "/diff.html";
  const ProgramResult result =
      run_program(std::string(kVerifyWindow) + "--engine safe --engine safe --html " + page);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(data_of_page(test::read_file(page))["summary"]["verdict"], "No difference.");
}

TEST(DiffCommand, APageOnAFullDiskIsAnErrorOfTheEnvironment) {
  const ProgramResult full =
      run_program(std::string(kVerifyWindow) + "--engine safe --engine reference --html /dev/full");
  EXPECT_EQ(full.exit_code, 4) << full.err;
  EXPECT_THAT(full.err, HasSubstr("cannot write /dev/full: No space left on device"));
  EXPECT_EQ(full.out, "");
}

TEST(DiffCommand, AFailedComparisonLeavesNoPage) {
  const std::string folder = test::temporary_folder("diff_failed", {});
  EXPECT_EQ(run_program("diff --scenario /nonexistent.json --html " + folder + "/p.html").exit_code,
            3);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(DiffCommand, APageDoesNotReplaceWhatIsRead) {
  const RecordedPair pair;
  const auto refuses = [](const std::string& arguments, const std::string& message) {
    const ProgramResult result = run_program("diff " + arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    EXPECT_THAT(result.err, HasSubstr(message)) << arguments;
  };
  refuses(pair.place("one") + " " + pair.place("none") + " --html " + pair.file(),
          "this is the session file");
  const std::string scenario = test::temporary_file("page_scenario.json", "{}");
  refuses("--scenario " + scenario + " --html " + scenario, "this is the scenario");
  EXPECT_EQ(test::read_file(scenario), "{}");
  refuses(pair.place("one") + " " + pair.place("none") + " --json --html -",
          "--json and --html would both be on standard output");
}

TEST(DiffCommand, WrongUseIsExplained) {
  const auto fails = [](const std::string& arguments, int code, const std::string& message) {
    const ProgramResult result = run_program("diff " + arguments);
    EXPECT_EQ(result.exit_code, code) << arguments;
    EXPECT_THAT(result.err, HasSubstr(message)) << arguments;
    EXPECT_EQ(result.out, "") << arguments;
  };
  const std::string scenario = "--scenario scenarios/v2_slots.json ";
  fails("", 2, "give two sessions FILE.db[:NAME], or --scenario");
  fails("one.db", 2, "give two sessions");
  fails(scenario + "--ignore block_ids", 2, "there is no ignore rule \"block_ids\" (known:");
  fails(scenario + "--level 1", 2, "--level: 1 not in {");
  fails("a.db b.db --level counts", 2, "--level requires --scenario");
  fails(scenario + "--engine safe", 2, "--engine is given twice");
  fails(scenario + "--b runner", 2, "\"runner\" is not KEY=VALUE");
  fails(scenario + "--b color=red", 2, "there is no setting \"color\" (known: mamba_cache_mode,");
  fails(scenario + "--b runner=v3", 2, "runner is");
  fails(scenario + "--engine safe --engine bogus", 2, "engine is \"bogus\"");
  fails("/nonexistent/a.db /nonexistent/b.db", 3, "/nonexistent/a.db");
  const RecordedPair pair;
  fails(pair.place("one") + " " + pair.place("two"), 3, "two");
}

}  // namespace
}  // namespace hybridscope::diff_test
