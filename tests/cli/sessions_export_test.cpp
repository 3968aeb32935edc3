// `hybridscope sessions export|import` as a user types them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::sessions_export_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

// A file with the session "before", recorded at level full; `path` names more files beside it.
class SessionsExport : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name =
        std::string(::testing::UnitTest::GetInstance()->current_test_info()->name());
    folder_ = temporary_file("export_" + name, "");
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const ProgramResult run =
        run_program("run -q scenarios/v2_slots.json --record-level full --record " +
                    path("runs.db") + ":before");
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string text(const std::string& name) const {
    std::ostringstream bytes;
    bytes << std::ifstream(path(name), std::ios::binary).rdbuf();
    return bytes.str();
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  ProgramResult sessions(const std::string& arguments) const {
    return run_program("sessions " + arguments);
  }
  std::size_t num_files() const {
    std::size_t number = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      number += entry.path().filename().string().starts_with("runs.db") ? 0 : 1;
    return number;
  }
  // What the program does that reads or writes `pipe` when it is interrupted as soon as it asks for
  // that; the other end is `peer`, a command of the shell. The program may leave without having
  // opened its end: then nobody else would wake the peer, so it is ended too.
  int interrupted(const std::string& arguments, const std::string& peer) const {
    const std::string program = std::string("'") + HYBRIDSCOPE_PROGRAM + "' sessions " + arguments;
    // SigCgt has the signals that are caught; SIGINT is the second bit. The shell catches it too,
    // and is what runs as $pid until the program does. A program that ended (Z) catches nothing.
    const int status =
        std::system(("mkfifo " + path("pipe") + "; " + program + " 2>/dev/null & pid=$!; " +
                     "until grep -q '^Name:.hybridscope' /proc/$pid/status && " +
                     "grep -q -e 'SigCgt:.*[2367abef]$' -e 'State:.*Z' /proc/$pid/status; " +
                     "do sleep 0.01; done; kill -INT $pid; " + peer + " & peer=$!; " +
                     "wait $pid; code=$?; kill $peer 2>/dev/null; exit $code")
                        .c_str());
    std::filesystem::remove(path("pipe"));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string folder_;
};

TEST_F(SessionsExport, AReportIsOneFile) {
  const ProgramResult result =
      sessions("export " + path("runs.db") + ":before --html " + path("a.html"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(num_files(), 1u);
  EXPECT_THAT(text("a.html"), StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(text("a.html"), HasSubstr(R"("title":"before")"));
}

TEST_F(SessionsExport, ARangeOfStepsSaysWhatItLeavesOut) {
  const std::string place = path("runs.db") + ":before";
  const ProgramResult part =
      sessions("export " + place + " --html " + path("a.html") + " --steps 2-3");
  ASSERT_EQ(part.exit_code, 0) << part.err;
  EXPECT_THAT(part.err, HasSubstr("steps 2 to 3 are shown: 2 of 6 steps (1 to 6)"));
  const ProgramResult none =
      sessions("export " + place + " --html " + path("b.html") + " --steps 7-9");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("there is no step from 7 to 9"));
  EXPECT_FALSE(std::filesystem::exists(path("b.html")));
  for (const char* range : {"3-2", "0-2", "x", "2-", "-2"})
    EXPECT_EQ(
        sessions("export " + place + " --html " + path("b.html") + " --steps=" + range).exit_code,
        2)
        << range;
  EXPECT_EQ(sessions("export " + place).exit_code, 2);
  const ProgramResult without =
      sessions("export " + place + " --jsonl " + path("b.jsonl") + " --steps 2-3");
  EXPECT_EQ(without.exit_code, 2);
  EXPECT_THAT(without.err, HasSubstr("--steps requires --html"));
}

TEST_F(SessionsExport, TheSessionFileIsNoOutput) {
  const std::string before = text("runs.db");
  std::filesystem::create_symlink(path("runs.db"), path("link.jsonl"));
  std::filesystem::create_hard_link(path("runs.db"), path("hard.jsonl"));
  for (const char* output :
       {"runs.db", "./runs.db", "runs.db-wal", "runs.db-shm", "link.jsonl", "hard.jsonl"})
    for (const char* option : {"--html ", "--jsonl ", "--trace "}) {
      const ProgramResult out =
          sessions("export " + path("runs.db") + ":before " + option + path(output));
      EXPECT_EQ(out.exit_code, 2) << option << output;
      EXPECT_THAT(out.err, HasSubstr("this is the session file"));
    }
  EXPECT_EQ(text("runs.db"), before);
}

TEST_F(SessionsExport, TwoOutputsAreTwoPlaces) {
  const std::string place = "export " + path("runs.db") + ":before ";
  const ProgramResult same = sessions(place + "--html " + path("a") + " --jsonl " + path("../") +
                                      std::filesystem::path(folder_).filename().string() + "/a");
  EXPECT_EQ(same.exit_code, 2);
  EXPECT_THAT(same.err, HasSubstr("are the same, expected two places"));
  EXPECT_FALSE(std::filesystem::exists(path("a")));
  const ProgramResult mixed = sessions(place + "--jsonl - --trace -");
  EXPECT_EQ(mixed.exit_code, 2);
  EXPECT_EQ(mixed.out, "");
  EXPECT_EQ(sessions(place + "--jsonl - --trace " + path("t.jsonl")).exit_code, 0);
}

TEST_F(SessionsExport, WhatCannotBeWrittenIsTheEnvironmentsFault) {
  const auto fails = [&](const std::string& output, const std::string& message) {
    const ProgramResult out = sessions("export " + path("runs.db") + ":before --jsonl " + output);
    EXPECT_EQ(out.exit_code, 4) << output;
    EXPECT_THAT(out.err, HasSubstr(message));
  };
  fails("/dev/full", "cannot write /dev/full: No space left on device");
  fails(path("none/x.jsonl"), "cannot write " + path("none/x.jsonl") + ": No such file");
  fails(folder_, "it is a directory");
}

TEST_F(SessionsExport, WhatIsExportedIsImportedEqual) {
  const std::string place = path("runs.db") + ":before";
  for (const char* name : {"a.jsonl", "a.jsonl.zst"}) {
    SCOPED_TRACE(name);
    const ProgramResult out = sessions("export " + place + " --jsonl " + path(name));
    ASSERT_EQ(out.exit_code, 0) << out.err;
    const ProgramResult in = sessions("import " + path(name) + " " + path("other.db") + ":" + name);
    ASSERT_EQ(in.exit_code, 0) << in.err;
    EXPECT_THAT(in.out, HasSubstr("6 steps"));
    const ProgramResult again = sessions("export " + path("other.db") + ":" + name + " --jsonl -");
    ASSERT_EQ(again.exit_code, 0) << again.err;
    const std::string plain = sessions("export " + place + " --jsonl -").out;
    std::string expected = plain;
    const std::string old_name = "\"name\":\"before\"";
    expected.replace(expected.find(old_name), old_name.size(),
                     std::string("\"name\":\"") + name + "\"");
    EXPECT_EQ(again.out, expected);
  }
  EXPECT_LT(text("a.jsonl.zst").size(), text("a.jsonl").size() / 3);
}

TEST_F(SessionsExport, AnImportNeverOverwrites) {
  sessions("export " + path("runs.db") + " --jsonl " + path("a.jsonl"));
  const ProgramResult in = sessions("import " + path("a.jsonl") + " " + path("runs.db"));
  EXPECT_EQ(in.exit_code, 2);
  EXPECT_THAT(in.err, HasSubstr("before"));
  const ProgramResult list = sessions("list " + path("runs.db") + " --json");
  EXPECT_EQ(nlohmann::json::parse(list.out).size(), 1u);
}

TEST_F(SessionsExport, OfADamagedFileNothingIsImported) {
  sessions("export " + path("runs.db") + " --jsonl " + path("a.jsonl"));
  const std::string whole = text("a.jsonl");
  const auto refuse = [&](const std::string& damaged, const std::string& message) {
    write("b.jsonl", damaged);
    const ProgramResult in = sessions("import " + path("b.jsonl") + " " + path("runs.db") + ":new");
    EXPECT_EQ(in.exit_code, 3);
    EXPECT_THAT(in.err, HasSubstr(message));
    const auto list = nlohmann::json::parse(sessions("list " + path("runs.db") + " --json").out);
    EXPECT_EQ(list.size(), 1u);
  };
  refuse(whole.substr(0, whole.rfind('\n', whole.size() - 2) + 1), "the file is cut off");
  refuse(whole.substr(0, whole.size() - 20), "b.jsonl:8:");
  std::string wrong = whole;
  wrong.replace(wrong.find("\"step\":4"), 8, "\"step\":3");
  refuse(wrong, "b.jsonl:5: /step: 3, expected a number above 3");
  std::string number = whole;
  number.replace(number.find("\"bookmarks\":["), 13, "\"bookmarks\":5,\"others\":[");
  refuse(number, "b.jsonl:8: /bookmarks: 5, expected an array");
  refuse("{}\n", "b.jsonl:1: /: no header of a session");
  refuse("", "empty, expected the header of a session");
}

TEST_F(SessionsExport, CtrlCLeavesNothingHalf) {
  sessions("export " + path("runs.db") + " --jsonl " + path("a.jsonl"));
  EXPECT_EQ(interrupted("import " + path("pipe") + " " + path("runs.db") + ":half",
                        "cat " + path("a.jsonl") + " >" + path("pipe")),
            130);
  EXPECT_EQ(nlohmann::json::parse(sessions("list " + path("runs.db") + " --json").out).size(), 1u);
  for (const char* option : {" --jsonl ", " --trace "})
    EXPECT_EQ(interrupted("export " + path("runs.db") + ":before" + option + path("pipe"),
                          "cat " + path("pipe") + " >/dev/null"),
              130)
        << option;
  EXPECT_EQ(num_files(), 1u);  // a.jsonl
}

TEST_F(SessionsExport, ATraceIsJudgedAlsoCompressed) {
  for (const char* name : {"a.jsonl", "a.jsonl.zst"}) {
    const ProgramResult out =
        sessions("export " + path("runs.db") + ":before --trace " + path(name));
    ASSERT_EQ(out.exit_code, 0) << out.err;
    const ProgramResult judged = run_program("judge " + path(name));
    EXPECT_EQ(judged.exit_code, 0) << judged.out << judged.err;
    EXPECT_THAT(judged.out, HasSubstr("6 steps"));
  }
}

// As if the plan made other decisions now: step 4 was recorded with another digest.
TEST_F(SessionsExport, ATraceIsOfTheDecisionsThatWereRecorded) {
  std::string lines = sessions("export " + path("runs.db") + " --jsonl -").out;
  const std::size_t schedule =
      lines.find("\",\"", lines.find("\"digests\"", lines.find("{\"step\":4"))) + 3;
  lines.replace(schedule, 16, "0123456789abcdef");
  write("b.jsonl", lines);
  ASSERT_EQ(sessions("import " + path("b.jsonl") + " " + path("runs.db") + ":other").exit_code, 0);
  const ProgramResult out =
      sessions("export " + path("runs.db") + ":other --trace " + path("a.jsonl"));
  EXPECT_EQ(out.exit_code, 3);
  EXPECT_THAT(out.err, HasSubstr("step 4: schedule are not those of"));
  EXPECT_THAT(out.err, HasSubstr("does not reproduce here"));
  EXPECT_EQ(num_files(), 1u);  // b.jsonl
  // Digests of two versions cannot be compared.
  const std::string version = "\"digest_version\":";
  lines.replace(lines.find(version) + version.size(), 1, "1");
  write("b.jsonl", lines);
  ASSERT_EQ(sessions("import " + path("b.jsonl") + " " + path("runs.db") + ":older").exit_code, 0);
  const ProgramResult older =
      sessions("export " + path("runs.db") + ":older --trace " + path("a.jsonl"));
  EXPECT_EQ(older.exit_code, 0) << older.err;
  EXPECT_THAT(older.err, HasSubstr("recorded by another version"));
}

// hybridscope export.

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string kBoundary = "scenarios/align_boundary_by_decode.json";

TEST(Export, StepActionsOfAllRequestsOrOfOne) {
  const ProgramResult all = run_program("export " + kBoundary + " --as step-actions");
  EXPECT_EQ(all.exit_code, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("    \"A\": [  # prompt of 6, max_tokens 6\n"));
  EXPECT_THAT(all.out,
              HasSubstr("        StepAction(8, 6, [1, 1], (0, 1), (-1, -1)),  # step 6\n"));
  const ProgramResult one = run_program("export --request B --as step-actions --json " + kBoundary);
  const json actions = json::parse(one.out);
  ASSERT_EQ(actions["requests"].size(), 1U);
  EXPECT_EQ(actions["requests"][0]["request"], "B");
  EXPECT_EQ(actions["requests"][0]["step_actions"][0]["num_computed_tokens_start"], 8);
}

TEST(Export, AnUnknownRequestIsRefusedWithThoseThatRan) {
  const ProgramResult refused =
      run_program("export " + kBoundary + " --as step-actions --request C");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("no request \"C\" ran"));
  EXPECT_THAT(refused.err, HasSubstr("(those that did: A, B)"));
}

// A table in the file that vLLM's test has for it, and every generated test, is Python.
TEST(Export, ATestOfAnAsynchronousRunIsRefused) {
  const ProgramResult refused = run_program("export scenarios/plain_decode.json --as pytest");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("expected false: --no-async-scheduling"));
}

TEST(Export, AReportNamesTheCommandThatReproducesIt) {
  const ProgramResult report =
      run_program("export scenarios/starved_request.json --as markdown --engine reference");
  EXPECT_EQ(report.exit_code, 0) << report.err;
  EXPECT_THAT(report.out, StartsWith("# starved request\n"));
  EXPECT_THAT(report.out, HasSubstr("```\nhybridscope run scenarios/starved_request.json --engine "
                                    "reference --explain 4\n```\n"));
}

TEST(Export, OptionsThatWouldDoNothingAreRefused) {
  EXPECT_EQ(run_program("export " + kBoundary + " --as markdown --json").exit_code, 2);
  EXPECT_EQ(run_program("export " + kBoundary + " --as pytest --request A").exit_code, 2);
  EXPECT_EQ(run_program("export " + kBoundary + " --as csv").exit_code, 2);
  EXPECT_EQ(run_program("export " + kBoundary).exit_code, 2);
}

TEST(Export, WhatCannotBeReadIsInvalidInput) {
  EXPECT_EQ(run_program("export no_such.json --as markdown").exit_code, 3);
}

}  // namespace

}  // namespace hybridscope::test::sessions_export_test
