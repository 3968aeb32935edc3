// --expect-known-bugs, --baseline and --write-baseline, and scenarios that a release refuses.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/engine/releases.h"
#include "tests/cli/program.h"

namespace hybridscope::test::known_findings_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Json = nlohmann::json;

Json scenario_in(const Json& suite, const std::string& name) {
  for (const Json& scenario : suite.at("scenarios"))
    if (scenario.at("scenario") == name) return scenario;
  ADD_FAILURE() << "no scenario " << name;
  return {};
}

// A request that is skipped for a step: known bug 48, which every release has with runner V1.
Json starved_request() {
  return Json::parse(
      read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/starved_request.json"));
}

TEST(RefusedByRelease, AScenarioIsSkippedWithTheReason) {
  const std::string report = temporary_file("skipped.xml", "");
  const std::string tap = temporary_file("skipped.tap", "");
  const std::string command =
      "run scenarios/shared_prefix_all.json scenarios/plain_decode.json --engine vllm-0.33.0 "
      "--no-timings";
  const std::string why =
      "scenarios/shared_prefix_all.json: /settings: vllm-0.33.0 has no mode all any more "
      "(vllm-0.32.0 removed it)";
  const ProgramResult run = run_program(command + " --junit " + report + " --tap " + tap);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nskipped                 -         -  shared prefix all\n    " +
                                 why + "\n"));
  EXPECT_THAT(run.out, HasSubstr("2 scenarios: 1 ok, 1 skipped; "));
  EXPECT_THAT(read_file(report),
              AllOf(HasSubstr("skipped=\"1\""), HasSubstr("<skipped message=\"" + why + "\"/>")));
  EXPECT_THAT(read_file(tap), HasSubstr("ok 1 - shared prefix all # SKIP " + why + "\n"));
  const Json suite = Json::parse(run_program(command + " --json").out);
  const Json skipped = scenario_in(suite, "shared prefix all");
  EXPECT_EQ(skipped.at("result"), "skipped");
  EXPECT_EQ(skipped.at("exit_code"), 0);
  EXPECT_EQ(skipped.at("skipped"), why);
}

TEST(RefusedByRelease, WhatCannotRunWithoutTheReleaseEitherIsInvalid) {
  Json broken = starved_request();
  broken["settings"]["block_size"] = 0;
  const std::string folder = temporary_folder("broken", {{"a.json", broken.dump()}});
  EXPECT_EQ(run_program("run '" + folder + "' --engine vllm-0.33.0").exit_code, 3);
  // Not the release, but another option of the command line refuses it.
  EXPECT_EQ(run_program("run scenarios/ --filter 'starved*' --engine vllm-0.33.0 --max-model-len 4")
                .exit_code,
            3);
}

TEST(RefusedByRelease, WhatTheReleaseAloneRunsIsNotSkippedForAnotherOption) {
  // Without --engine it runs in mode all, and with --engine alone it runs too.
  const ProgramResult mode = run_program(
      "run scenarios/ --filter 'plain*' --engine vllm-0.33.0 --mamba-cache-mode all --no-timings");
  EXPECT_EQ(mode.exit_code, 3);
  EXPECT_THAT(mode.out, HasSubstr("1 invalid; "));
  // The first is refused by the release, the second by --max-model-len.
  const ProgramResult both = run_program(
      "run scenarios/shared_prefix_all.json scenarios/plain_decode.json --engine vllm-0.33.0 "
      "--max-model-len 4 --no-timings");
  EXPECT_EQ(both.exit_code, 3);
  EXPECT_THAT(both.out, HasSubstr("shared prefix all\n    scenarios/shared_prefix_all.json: "
                                  "/settings: vllm-0.33.0 has no mode all any more"));
  EXPECT_THAT(both.out, HasSubstr("2 scenarios: 1 skipped, 1 invalid; "));
}

TEST(ExpectKnownBugs, ShippedScenariosShowNothingElseInAnyRelease) {
  for (const std::string_view release : release_names()) {
    const ProgramResult run = run_program(
        "run scenarios/ --no-timings --expect-known-bugs --engine "
        "vllm-" +
        std::string(release));
    EXPECT_EQ(run.exit_code, 0) << release << "\n" << run.out << run.err;
  }
}

TEST(ExpectKnownBugs, FindingsOfTheReleasePassAndAreToldWithTheirBug) {
  const std::string command = "run scenarios/ --filter 'starved*' --no-timings --engine ";
  EXPECT_EQ(run_program(command + "vllm-0.28.0").exit_code, 1);
  const ProgramResult known = run_program(command + "vllm-0.28.0 --expect-known-bugs");
  EXPECT_EQ(known.exit_code, 0) << known.out;
  EXPECT_THAT(known.out, ContainsRegex("\nok  +[0-9]+  +[0-9]+  starved request\n    [0-9]+ "
                                       "findings are from known bug 48, "
                                       "skipped-step-forgets-accepted-count\n"));
  const Json json =
      Json::parse(run_program(command + "vllm-0.28.0 --expect-known-bugs --json").out);
  EXPECT_EQ(scenario_in(json, "starved request").at("excused").at(0).at("source"),
            "known bug 48, skipped-step-forgets-accepted-count");
  // One scenario alone, too.
  const ProgramResult alone = run_program(
      "run scenarios/starved_request.json --engine vllm-0.28.0 --expect-known-bugs --no-timings");
  EXPECT_EQ(alone.exit_code, 0) << alone.out;
  EXPECT_THAT(alone.out, HasSubstr(" findings, all of them expected"));
}

TEST(ExpectKnownBugs, AFaultThatTheReleaseDoesNotHaveFails) {
  const std::string folder = temporary_folder("faulty", {{"a.json", faulty_scenario("faulty")}});
  EXPECT_EQ(run_program("run '" + folder + "' --expect-known-bugs").exit_code, 1);
  // Known bug 7, which is in releases up to 0.31.0.
  EXPECT_EQ(run_program("run scenarios/ --filter 'budget*' --expect-known-bugs --engine "
                        "vllm-0.33.0 --policies-no-draft-step column_zero")
                .exit_code,
            1);
}

TEST(ExpectKnownBugs, ABugThatNoLongerShowsWhereItIsKnownToShowFails) {
  Json scenario = starved_request();
  scenario["script"][1]["budget"] = 4;  // C is not skipped any more
  const std::string folder = temporary_folder("gone", {{"a.json", scenario.dump()}});
  const std::string command = "run '" + folder + "' --expect-known-bugs --no-timings --engine ";
  const ProgramResult gone = run_program(command + "vllm-0.26.0");
  EXPECT_EQ(gone.exit_code, 1);
  EXPECT_THAT(gone.out, HasSubstr("unmet"));
  EXPECT_THAT(
      gone.out,
      HasSubstr("    expectation not met: known bug 48, skipped-step-forgets-accepted-count, "
                "which vllm-0.26.0 has, is the cause of no finding\n"));
  // Where the engine does not have it, nothing is missing; nor without the option.
  EXPECT_EQ(run_program(command + "safe").exit_code, 0);
  EXPECT_EQ(run_program("run '" + folder + "' --engine vllm-0.26.0").exit_code, 0);
}

// Known bugs 6 and 50 are one policy, and the engine has both; the scenario shows 50.
TEST(ExpectKnownBugs, ABugOfTheSamePolicyIsNotTheOneThatMustShow) {
  Json scenario = Json::parse(read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                        "/scenarios/bugs/resumed-tail-runs-as-decode.json"))
                      .at("scenario");
  scenario["name"] = "resumed";
  scenario["expect"] = {{"known_bugs", {{{"bug", "50"}}}}};
  const std::string command = " --expect-known-bugs --no-timings --engine vllm-0.30.0 --runner v1";
  const std::string shown = temporary_folder("shown", {{"a.json", scenario.dump()}});
  const ProgramResult met = run_program("run '" + shown + "'" + command);
  EXPECT_EQ(met.exit_code, 0) << met.out;
  scenario["expect"] = {{"known_bugs", {{{"bug", "6"}}}}};
  const std::string other = temporary_folder("other", {{"a.json", scenario.dump()}});
  const ProgramResult unmet = run_program("run '" + other + "'" + command);
  EXPECT_EQ(unmet.exit_code, 1) << unmet.out;
  EXPECT_THAT(unmet.out, HasSubstr("expectation not met: known bug 6, "
                                   "one-token-first-chunk-as-decode, which vllm-0.30.0 has, is the "
                                   "cause of no finding\n"));
}

TEST(Baseline, OnlyNewFindingsFail) {
  const std::string folder = temporary_folder("baseline", {{"a.json", faulty_scenario("faulty")}});
  const std::string file = folder + "/known.txt";
  const ProgramResult written = run_program("run '" + folder + "' --write-baseline " + file);
  EXPECT_EQ(written.exit_code, 0) << written.out << written.err;
  const ProgramResult known = run_program("run '" + folder + "' --no-timings --baseline " + file);
  EXPECT_EQ(known.exit_code, 0) << known.out;
  EXPECT_THAT(known.out, HasSubstr(" findings are from the baseline " + file + "\n"));
  EXPECT_EQ(known.err, "");
  // Another scenario's findings are new.
  const std::string more = temporary_folder(
      "more", {{"a.json", faulty_scenario("faulty")}, {"b.json", faulty_scenario("another")}});
  const ProgramResult both = run_program("run '" + more + "' --no-timings --baseline " + file);
  EXPECT_EQ(both.exit_code, 1);
  EXPECT_THAT(both.out, HasSubstr("2 scenarios: 1 ok, 1 findings; "));
  // So is one finding that the file does not have: without its first line.
  Json json = Json::parse(read_file(file));
  json["findings"].erase(0);
  const std::string less = temporary_file("less.json", json.dump());
  EXPECT_EQ(run_program("run '" + folder + "' --baseline " + less).exit_code, 1);
}

TEST(Baseline, IsTheSameFileEachTime) {
  const std::string folder = temporary_folder("twice", {{"a.json", faulty_scenario("faulty")}});
  run_program("run '" + folder + "' --write-baseline " + folder + "/first");
  run_program("run '" + folder + "' --write-baseline " + folder + "/second");
  EXPECT_EQ(read_file(folder + "/first"), read_file(folder + "/second"));
  EXPECT_THAT(
      read_file(folder + "/first"),
      HasSubstr("{\n  \"version\": 1,\n  \"findings\": [\n    {\"run\":\"faulty\",\"rule\":\""));
}

TEST(Baseline, IsNotWrittenUnlessEverythingRanToItsEnd) {
  const std::string folder = temporary_folder(
      "not_all", {{"a.json", faulty_scenario("faulty")}, {"b.json", fine_scenario("fine")}});
  const std::string broken =
      temporary_folder("broken_too", {{"a.json", faulty_scenario("faulty")}, {"b.json", "{"}});
  struct Row {
    std::string words;
    int exit_code;
    const char* why;
  };
  for (const Row& row :
       {Row{folder + "/a.json --steps 2", 2, "the run did not come to its end"},
        Row{folder + "/a.json --explain 2", 2, "the run did not come to its end"},
        Row{folder + "/a.json --trace /dev/full", 4, "its session or trace could not be written"},
        Row{folder + " --steps 2", 2, "2 of 2 scenarios did not run to their end"},
        Row{broken, 3, "1 of 2 scenarios did not run to its end"},
        Row{broken + "/b.json", 3, "nothing ran"}}) {
    const std::string file = temporary_file("kept.json", "as it was\n");
    const ProgramResult run = run_program("run " + row.words + " --write-baseline " + file);
    EXPECT_EQ(run.exit_code, row.exit_code) << row.words << "\n" << run.out << run.err;
    EXPECT_THAT(run.err,
                HasSubstr("hybridscope run: " + file + " is not written: " + row.why + "\n"))
        << row.words;
    EXPECT_EQ(read_file(file), "as it was\n") << row.words;
  }
}

TEST(Baseline, IsWrittenWithoutScenariosThatTheReleaseRefuses) {
  const std::string file = temporary_file("kept.json", "as it was\n");
  const ProgramResult run = run_program(
      "run scenarios/shared_prefix_all.json scenarios/plain_decode.json --engine vllm-0.33.0 "
      "--write-baseline " +
      file);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(read_file(file), HasSubstr("\"version\": 1"));
}

TEST(Baseline, OfAPartOfTheScenariosWouldLoseTheOthers) {
  const std::string folder = temporary_folder("parts", {{"a.json", fine_scenario("fine")}});
  const std::string file = temporary_file("kept.json", "as it was\n");
  const std::string tap = temporary_file("failed.tap", "TAP version 13\n1..0\n");
  const std::string command = "run '" + folder + "' --write-baseline " + file;
  const auto refused = [&](const std::string& options, const std::string& environment,
                           const std::string& part) {
    const ProgramResult run = run_program(command + options, environment);
    EXPECT_EQ(run.exit_code, 2) << options;
    EXPECT_EQ(run.err, "hybridscope run: --write-baseline needs a run of all scenarios: with " +
                           part + " the findings of the others would be lost\n");
    EXPECT_EQ(read_file(file), "as it was\n") << options;
  };
  const std::string shard = "a shard (--shard, or test shards in the environment)";
  refused(" --filter 'f*'", "", "--filter");
  refused(" --rerun-failed " + tap, "", "--rerun-failed");
  refused(" --shard 1/2", "", shard);
  refused("", "GTEST_TOTAL_SHARDS=2 GTEST_SHARD_INDEX=0", shard);
  EXPECT_EQ(run_program(command + " --shard 1/1").exit_code, 0);
}

TEST(Baseline, SaysWhatOfItDidNotOccur) {
  const std::string folder = temporary_folder("fixed", {{"a.json", faulty_scenario("faulty")}});
  const std::string file = folder + "/known.txt";
  run_program("run '" + folder + "' --write-baseline " + file);
  // A run that was stopped says nothing of it.
  const std::string stopped = "run '" + folder + "' --steps 1 --baseline " + file;
  EXPECT_EQ(run_program(stopped).err, "");
  const std::string mended = temporary_folder("mended", {{"a.json", fine_scenario("faulty")}});
  const ProgramResult run = run_program("run '" + mended + "' --baseline " + file);
  EXPECT_EQ(run.exit_code, 0) << run.out;
  EXPECT_THAT(run.err, ContainsRegex("note: [0-9]+ findings of [^ ]*known.txt did not occur; "));
}

TEST(Baseline, AFileThatIsNoneIsInput) {
  for (
      const std::string text :
      {"{", "{}", R"({"version": 2, "findings": []})",
       R"({"version": 1, "findings": [{"run": "a", "rule": "no-rule", "steps": [1]}]})",
       R"({"version": 1, "findings": [{"run": "a", "rule": "no-progress", "steps": [[3, 1]]}]})",
       // More than a million steps, in one range and in two lines.
       R"({"version": 1, "findings": [{"run": "a", "rule": "no-progress", "steps": [[1, 1000001]]}]})",
       R"({"version": 1, "findings": [{"run": "a", "rule": "no-progress", "steps": [[1, 600000]]},
                                      {"run": "b", "rule": "no-progress", "steps": [[1, 600000]]}]})"}) {
    const std::string file = temporary_file("bad.json", text);
    const ProgramResult run = run_program("run scenarios/plain_decode.json --baseline " + file);
    EXPECT_EQ(run.exit_code, 3) << text;
    EXPECT_THAT(run.err, HasSubstr("bad.json")) << text;
  }
  EXPECT_EQ(run_program("run scenarios/plain_decode.json --baseline no/such").exit_code, 3);
  EXPECT_EQ(run_program("run scenarios/ --baseline a --write-baseline b").exit_code, 2);
  EXPECT_EQ(run_program("run scenarios/ --expect-known-bugs --write-baseline b").exit_code, 2);
}

TEST(Quiet, NotesOfScenariosAreLeftOut) {
  const ProgramResult suite =
      run_program("run scenarios/ --filter 'plain*' -q --engine vllm-0.33.0");
  EXPECT_EQ(suite.err, "");
  EXPECT_THAT(suite.out, Not(HasSubstr("plain decode")));
  EXPECT_EQ(run_program("run scenarios/plain_decode.json -q --engine vllm-0.33.0").err, "");
}

}  // namespace
}  // namespace hybridscope::test::known_findings_test
