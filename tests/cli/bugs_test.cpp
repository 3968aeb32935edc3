// The commands that lead from a finding to its cause: hybridscope bugs and hybridscope shrink.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sessions/scenario/known_bug_table.h"
#include "tests/cli/program.h"

namespace hybridscope::test::bugs_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> listed(const std::string& arguments) {
  std::vector<std::string> ids;
  for (const json& bug : json::parse(run_program("bugs list --json " + arguments).out))
    ids.push_back(bug["id"]);
  return ids;
}

TEST(Bugs, AreListed) {
  const ProgramResult list = run_program("bugs");
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, StartsWith(std::to_string(known_bug_table().size()) + " known bugs\n"));
  EXPECT_THAT(list.out, HasSubstr(" 48  skipped-step-forgets-accepted-count "));
  EXPECT_EQ(run_program("bugs list").out, list.out);
}

TEST(Bugs, ListSaysWhatAReleaseFixed) {
  const auto fixed = listed("--engine vllm-0.26.0 --not-in vllm-0.28.0");
  EXPECT_THAT(fixed, AllOf(Contains("mid-block-chunk-poisons-slot"),
                           Contains("accepted-count-cross-program-race")));
  EXPECT_THAT(fixed, Not(Contains("skipped-step-forgets-accepted-count")));  // open
  EXPECT_THAT(fixed, Not(Contains("chunk-tail-runs-as-decode")));            // fixed before
  const auto v1 = listed("--engine vllm-0.26.0 --not-in vllm-0.28.0 --runner v1");
  EXPECT_THAT(v1, Not(Contains("accepted-count-cross-program-race")));  // V2's
  EXPECT_THAT(run_program("bugs list --engine vllm-0.26.0 --not-in vllm-0.28.0").out,
              HasSubstr("\nkplus1-prompt-replays-verify-graph is still in vllm-0.28.0 with "
                        "runner v1\n"));
}

TEST(Bugs, TheColumnsAreReleases) {
  const std::string list = run_program("bugs list --engine vllm-0.26.0 --runner v1").out;
  EXPECT_THAT(list, HasSubstr("mid-block-chunk-poisons-slot "));
  EXPECT_THAT(list, HasSubstr(" 0.24.0 to 0.26.0 "));
  EXPECT_THAT(list, HasSubstr(" from 0.24.0 on "));
  EXPECT_THAT(run_program("bugs list").out, HasSubstr(" no release "));
}

TEST(Bugs, TheNewestReleaseHasFewer) {
  EXPECT_THAT(listed("--engine vllm --runner v2"),
              testing::ElementsAre(
                  "padded-one-token-prompt-folds-placeholders",
                  "padded-prompt-sorted-before-verify-rows", "full-chunk-sorted-before-decode-rows",
                  "priority-victim-keeps-registered-block", "unreserved-state-spoils-running-block",
                  "block-left-half-full-gets-whole-key", "hit-inside-block-of-same-step"));
}

TEST(Bugs, SafeHasNone) {
  EXPECT_THAT(listed("--engine safe"), testing::IsEmpty());
  EXPECT_EQ(run_program("bugs list --engine safe").out, "0 known bugs in safe\n");
}

TEST(Bugs, AProfileThatThereIsNotIsAMistakeOfTheCommandLine) {
  EXPECT_THAT(run_program("bugs list --engine vllm@2026-02-30").err,
              HasSubstr("there is no profile \"vllm@2026-02-30\", there is no such day (safe, "));
  const ProgramResult list = run_program("bugs list --engine vllm@2026-06");
  EXPECT_EQ(list.exit_code, 2);
  EXPECT_THAT(list.err, HasSubstr("there is no profile \"vllm@2026-06\", did you mean "
                                  "\"vllm@2026-06-29\"? (safe, reference, vllm-0.24.0, "));
}

TEST(Bugs, OneIsShownByNumber) {
  const ProgramResult shown = run_program("bugs show 48");
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, StartsWith("skipped-step-forgets-accepted-count (no. 48)\n"));
  EXPECT_THAT(shown.out, HasSubstr("policy     accepted_count_owner = persistent_row\n"));
  EXPECT_THAT(shown.out, HasSubstr("block 5 holds the state of 3 tokens of C, expected 4"));
  EXPECT_THAT(run_program("bugs show 48 --markdown").out,
              StartsWith("## skipped-step-forgets-accepted-count\n"));
  EXPECT_EQ(json::parse(run_program("bugs show 48 --json").out)["number"], 48);
}

TEST(Bugs, AnUnknownOneIsToldWithTheNearest) {
  const ProgramResult shown = run_program("bugs show same-step-prefix-hits");
  EXPECT_EQ(shown.exit_code, 2);
  EXPECT_THAT(shown.err, HasSubstr("did you mean \"same-step-prefix-hit\"?"));
  const ProgramResult left_out = run_program("bugs show 21");
  EXPECT_EQ(left_out.exit_code, 2);
  EXPECT_THAT(left_out.err,
              HasSubstr("known bug 21 (encoder-cap-starves-align-split) has no entry: "
                        "there are no encoders here"));
  EXPECT_THAT(run_program("bugs shwo").err, HasSubstr("there is no command \"shwo\""));
}

TEST(Bugs, ItsScenarioIsAFileForRun) {
  const std::string faulty =
      temporary_file("faulty.json", run_program("bugs show 48 --scenario faulty").out);
  const std::string healthy =
      temporary_file("healthy.json", run_program("bugs show 48 --scenario healthy").out);
  const ProgramResult wrong = run_program("run " + faulty);
  EXPECT_EQ(wrong.exit_code, 0) << wrong.out;  // it expects what it finds
  EXPECT_THAT(wrong.out, HasSubstr("running-state-wrong: step 4 C row 1"));
  EXPECT_EQ(run_program("run --strict " + healthy).exit_code, 0);
}

TEST(Bugs, AReportHasTheSmallestScenario) {
  const ProgramResult report = run_program("bugs show 50 --report");
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, HasSubstr("\n- Where: v1/worker/gpu_model_runner.py:2327, "));
  // Its file has two requests.
  EXPECT_THAT(report.out, HasSubstr("\"requests\": [\n    {\"id\": \"A\", \"prompt\": 4, "));
  EXPECT_THAT(report.out, Not(HasSubstr("{\"id\": \"B\"")));
  EXPECT_THAT(report.out, HasSubstr("\n- running-state-wrong: step 4 A row 0 "));
}

TEST(Bugs, AReportOfARelease) {
  EXPECT_EQ(run_program("bugs show 1 --report").out,
            "mid-block-chunk-poisons-slot is not in 0.33.0. Runner V1: 0.24.0 to 0.26.0, mended in "
            "0.27.1. Runner V2: 0.25.1 to 0.26.0, mended in 0.27.1.\n");
  EXPECT_THAT(run_program("bugs show 1 --report --release vllm-0.26.0").out,
              HasSubstr("\nIn vLLM 0.26.0, runner V1.\n"));
  const ProgramResult unknown = run_program("bugs show 1 --report --release 0.34.0");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no release \"0.34.0\" (0.24.0, "));
  EXPECT_EQ(run_program("bugs show 1 --release 0.26.0").exit_code, 2);
}

TEST(Bugs, ATestIsAFileForPytest) {
  EXPECT_THAT(run_program("bugs show 8b --test").out,
              AllOf(StartsWith("\"\"\"Known bug 8b: "),
                    HasSubstr("\ndef test_a_prompt_of_one_token_is_not_padded():\n")));
  const ProgramResult none = run_program("bugs show 1 --test");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, HasSubstr("mid-block-chunk-poisons-slot has none"));
}

TEST(Bugs, OneIsRunWithItsHealthyRunAndExplained) {
  const ProgramResult run = run_program("bugs run 1 --explain");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("healthy  0 findings in "));
  EXPECT_THAT(run.out, HasSubstr("The first wrong step, 2:"));
}

TEST(Bugs, TheFindingsOfOneAreToldByTheirRoot) {
  const ProgramResult run = run_program("bugs run 48");
  EXPECT_THAT(run.out, HasSubstr("faulty   7 findings in 7 steps: as declared\n"
                                 "  C's accepted count became 1 when it was skipped in step 3; its "
                                 "own is 2, of step 2\n"
                                 "    running-state-wrong: step 4 C row 1"));
  EXPECT_THAT(run.out, HasSubstr("\n    6 findings follow from it, to step 7:\n"));
  EXPECT_THAT(run.out, EndsWith("\nhealthy  0 findings in 7 steps: as declared\n"
                                "next: hybridscope bugs run skipped-step-forgets-accepted-count "
                                "--explain\n"));
  const auto json = nlohmann::json::parse(run_program("bugs run 48 --json").out);
  EXPECT_EQ(json.at(0).at("faulty").at("roots").size(), 1U);
}

TEST(Bugs, AllDoWhatTheirFilesSay) {
  const std::string junit = temporary_file("bugs.xml", "");
  const ProgramResult run = run_program("bugs run --all --junit " + junit);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_THAT(run.out, HasSubstr(std::to_string(known_bug_table().size()) +
                                 " known bugs: all are found, and nothing without them\n"));
  EXPECT_THAT(read_file(junit), HasSubstr("skipped-step-forgets-accepted-count healthy"));
}

TEST(Bugs, WhatAReleaseFixedIsATableForAReviewComment) {
  const ProgramResult list =
      run_program("bugs list --engine vllm@2026-07-28 --not-in vllm@2026-07-29 --markdown");
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_EQ(list.out, R"(2 known bugs in vllm@2026-07-28 and not in vllm@2026-07-29

| no. | id | what goes wrong | V1 | V2 |
|---|---|---|---|---|
| 17 | `reset-stale-frame-rolls-back-computed` | A frame from before a reset takes its rejected drafts off the new run's count | 0.24.0 | 0.24.0 |
| 51 | `reset-discards-later-valid-frames` | After a reset valid frames lose their tokens, because discards are counted in tokens | 0.24.0 to 0.26.0 | 0.24.0 to 0.26.0 |
)");
}

TEST(Bugs, SeveralAreExplainedOneAfterTheOther) {
  const ProgramResult run = run_program("bugs run 12 48 --explain");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("short-tail-sorted-before-spec-decodes: "));
  EXPECT_THAT(run.out, HasSubstr("skipped-step-forgets-accepted-count: "));
  const std::string words = "\nThe first wrong step, ";
  EXPECT_NE(run.out.find(words), run.out.rfind(words));
  EXPECT_THAT(run.out, HasSubstr("\n2 known bugs: all are found, and nothing without them\n"));
}

TEST(Bugs, AReportOnStandardOutputIsAloneThere) {
  const ProgramResult junit = run_program("bugs run 12 --junit -");
  EXPECT_THAT(junit.out, StartsWith("<?xml"));
  EXPECT_THAT(junit.err, HasSubstr("short-tail-sorted-before-spec-decodes: "));
  const ProgramResult both = run_program("bugs run 12 --junit - --json");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_EQ(both.err,
            "hybridscope bugs run: --json and --junit would both be on standard output: give one "
            "a FILE\n");
}

TEST(Bugs, NearMatchesDoNotMindCapitals) {
  EXPECT_THAT(run_program("bugs show GDN-Gates-Not-Gathered").err,
              HasSubstr("did you mean \"gdn-gates-not-gathered\"?"));
}

TEST(Bugs, ItsOwnFileIsNoScenarioAndSaysHowToRunIt) {
  const std::string file = "scenarios/bugs/gdn-gates-not-gathered.json";
  for (const std::string command : {"run ", "shrink ", "export --as markdown "}) {
    const ProgramResult run = run_program(command + file);
    EXPECT_EQ(run.exit_code, 3) << command;
    EXPECT_THAT(run.err,
                HasSubstr(file + ": a known bug with a scenario in it, expected a scenario "
                                 "(hybridscope bugs run gdn-gates-not-gathered, "))
        << command;
  }
}

TEST(Bugs, RunAsksForABug) {
  const ProgramResult run = run_program("bugs run");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("name a bug (bugs list has them), or --all"));
}

TEST(DatedProfiles, RunAScenarioWithTheFaultsOfADay) {
  const std::string healthy =
      temporary_file("one.json", run_program("bugs show 1 --scenario healthy").out);
  EXPECT_EQ(run_program("run " + healthy).exit_code, 0);
  const ProgramResult june = run_program("run --engine vllm@2026-06-29 --json " + healthy);
  EXPECT_EQ(june.exit_code, 1);
  EXPECT_EQ(json::parse(june.out)["config"]["profile"], "vllm@2026-06-29");
  EXPECT_EQ(run_program("run --engine vllm@2026-08-18 " + healthy).exit_code, 0);
}

const std::string kStarved = "scenarios/starved_request.json";

// A path below a folder of this test alone.
std::string output_path(const std::string& name) {
  return temporary_folder("shrink_" + name, {}) + "/small.json";
}

TEST(Shrink, TellsWhatWasRemovedAndHowToReproduceIt) {
  const std::string file = output_path("tells");
  const ProgramResult shrunk = run_program("shrink " + kStarved + " --engine reference -o " + file);
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  EXPECT_THAT(shrunk.out, StartsWith("running-state-wrong: step 4 C row 0 "));
  EXPECT_THAT(shrunk.out, HasSubstr("                   steps  8 -> 5\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("       draws by the seed  4 -> 0\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("nothing more can go\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("reproduce: hybridscope run " + file + "\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("hybridscope run " + file + " --explain 4\n"));
}

TEST(Shrink, TheResultRunsAsItsFileSays) {
  const std::string file = output_path("runs");
  ASSERT_EQ(run_program("shrink " + kStarved + " --engine reference -q -o " + file).exit_code, 0);
  const ProgramResult run = run_program("run " + file + " --json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("running-state-wrong"));
  // Mended, the expected finding does not occur.
  EXPECT_EQ(run_program("run " + file + " --policies-accepted-count-owner request").exit_code, 1);
}

TEST(Shrink, ThePageShowsWhatItPrints) {
  const ProgramResult shrunk =
      run_program("shrink " + kStarved + " --engine reference -o " + output_path("page"));
  const std::string page = read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/docs/debug.md");
  EXPECT_THAT(page, HasSubstr(shrunk.out.substr(0, shrunk.out.find("written:"))));
}

TEST(Shrink, JsonHasSizesAndTheScenario) {
  const std::string file = output_path("json");
  const ProgramResult shrunk =
      run_program("shrink " + kStarved + " --engine reference --json -o " + file);
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  const json result = json::parse(shrunk.out);
  EXPECT_EQ(result["rule"], "running-state-wrong");
  EXPECT_EQ(result["end"], "smallest");
  EXPECT_EQ(result["before"]["output_tokens"], 20);
  EXPECT_EQ(result["after"]["output_tokens"], 7);
  EXPECT_EQ(result["reproduce"], "hybridscope run " + file);
  EXPECT_EQ(result["scenario"], json::parse(read_file(file)));
}

TEST(Shrink, AScenarioOnStandardOutputIsAlone) {
  const ProgramResult shrunk = run_program("shrink " + kStarved + " --engine reference -o -");
  EXPECT_EQ(shrunk.exit_code, 0);
  EXPECT_EQ(json::parse(shrunk.out)["version"], 1);
  EXPECT_THAT(shrunk.err, HasSubstr("nothing more can go"));
}

TEST(Shrink, WithoutAFindingItSaysSo) {
  const ProgramResult none = run_program("shrink " + kStarved);
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_EQ(none.err,
            "hybridscope shrink: scenarios/starved_request.json: no finding of severity error, so "
            "there is nothing to shrink (--rule SLUG shrinks for a warning)\n");
  EXPECT_EQ(none.out, "");
  EXPECT_EQ(run_program("shrink " + kStarved + " --engine reference --rule no-progress").exit_code,
            1);
}

TEST(Shrink, AnUnknownRuleIsRefusedWithTheNearestOne) {
  const ProgramResult refused = run_program("shrink " + kStarved + " --rule label-mismach");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no rule is called \"label-mismach\", did you mean "
                                     "\"label-mismatch\"? (known: running-state-wrong, "));
}

TEST(Shrink, TheInputIsNotReplaced) {
  const std::string file = temporary_file(
      "shrink_itself.json", read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/" + kStarved));
  const ProgramResult refused = run_program("shrink " + file + " -o " + file);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("this is the scenario " + file));
}

TEST(Shrink, WhatCannotBeReadIsInvalidInput) {
  const ProgramResult missing = run_program("shrink no_such_scenario.json");
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, HasSubstr("no_such_scenario.json"));
  const std::string broken = temporary_file("shrink_broken.json", "{\"version\": 2}");
  EXPECT_THAT(run_program("shrink " + broken).err, HasSubstr("/version: version is 2"));
}

TEST(Shrink, AnImpossibleSettingIsUsage) {
  EXPECT_EQ(run_program("shrink " + kStarved + " --max-num-seqs 0").exit_code, 2);
}

TEST(Shrink, ALimitOfAttemptsIsTold) {
  const ProgramResult shrunk =
      run_program("shrink " + kStarved + " --engine reference --runs 5 -o " + output_path("limit"));
  EXPECT_EQ(shrunk.exit_code, 0);
  EXPECT_THAT(shrunk.out, HasSubstr("5 attempts, the limit (--runs 5): more might go\n"
                                    "written:   " +
                                    output_path("limit") + "\nreproduce: hybridscope run "));
}

TEST(Shrink, ATraceIsCutToTheRequestThatIsWrong) {
  const std::string folder = temporary_folder("shrink_trace", {});
  const std::string trace = folder + "/t.jsonl";
  run_program("run scenarios/skipped_for_a_step.json --engine reference -q --trace " + trace);
  const std::string file = folder + "/small.jsonl.zst";
  const ProgramResult shrunk = run_program("shrink " + trace + " -o " + file);
  EXPECT_EQ(shrunk.exit_code, 0) << shrunk.err;
  EXPECT_THAT(shrunk.out, HasSubstr(" lines up to the finding  6 -> 5\n"));
  EXPECT_THAT(shrunk.out, HasSubstr("                requests  5 -> 1\n"));
  const ProgramResult judged = run_program("judge " + file);
  EXPECT_EQ(judged.exit_code, 1);
  EXPECT_THAT(judged.out, HasSubstr("running-state-wrong: step 5 C row 0"));
}

TEST(Shrink, ATraceTakesNoSettings) {
  const ProgramResult refused = run_program("shrink t.jsonl --engine reference");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--engine is for scenarios"));
}

TEST(Shrink, AttemptsAreANumberThatCanBeMade) {
  for (const std::string runs : {"0", "-1", "1000000001"}) {
    const ProgramResult run = run_program("shrink " + kStarved + " --runs " + runs);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err, HasSubstr("not in range 1 to 1000000000"));
  }
}

}  // namespace
}  // namespace hybridscope::test::bugs_test
