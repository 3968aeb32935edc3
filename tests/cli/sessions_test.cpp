// `hybridscope sessions list|show|stats|query|note|bookmark|rename|delete` as a user types them.
#include <gmock/gmock.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"

namespace hybridscope::test::sessions_test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kScenario = "scenarios/align_boundary_by_accepted_drafts.json";

// A file with the session "before", recorded at level full; nothing of an earlier test is in it.
class Sessions : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name =
        std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".db";
    file_ = temporary_file(name, "");
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(file_ + ending);
    const ProgramResult run = run_program(std::string("run -q ") + kScenario + " --record " +
                                          file_ + ":before --record-level full");
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  ProgramResult sessions(const std::string& arguments) const {
    return run_program("sessions " + arguments);
  }
  std::string file_;
};

// The level that run --record has when nothing is said.
TEST(SessionsShow, TheRootOfAFindingAndTheCountsOfRowsAreToldAtLevelBlocks) {
  const std::string file = temporary_folder("roots", {}) + "/runs.db";
  run_program("run scenarios/starved_request.json --engine reference --record " + file + ":r");
  EXPECT_THAT(
      run_program("sessions show " + file + ":r").out,
      HasSubstr("\nC's accepted count became 1 when it was skipped in step 3; its own is 2, "
                "of step 2\n"));
  EXPECT_THAT(run_program("sessions show " + file + ":r --step 4 --explain").out,
              AllOf(HasSubstr("seq_len  start  own  of\n"),
                    HasSubstr("    0  A        verify  kept      1       1  no           0       2"
                              "       10  1        1   3\n"),
                    HasSubstr("    1  C        verify  returned  1       1  no           2       2"
                              "        6  1        2   2\n")));
}

// The plan is in the session, so that the search can run it again.
TEST(SessionsShow, FindingsNameTheKnownBugAndTheCommandThatGoesOn) {
  const std::string file = temporary_folder("known_bug", {}) + "/runs.db";
  run_program("run scenarios/starved_request.json --engine reference --record " + file + ":r");
  const std::string shown = run_program("sessions show " + file + ":r").out;
  EXPECT_THAT(shown, HasSubstr("\n  this is known bug 48, skipped-step-forgets-accepted-count\n"
                               "  6 findings follow from it, to step 7:\n"));
  EXPECT_THAT(shown,
              HasSubstr("\nnext: hybridscope sessions show " + file + ":r --step 4 --explain\n"));
  // A table that begins later has the same chains.
  EXPECT_THAT(run_program("sessions show " + file + ":r --step 6").out,
              HasSubstr("6 findings follow from it, to step 7:"));
  EXPECT_THAT(
      run_program("sessions show " + file + ":r --step 5 --explain").out,
      HasSubstr("      follows from step 4: C's accepted count became 1 when it was skipped "
                "in step 3;\n"));
  EXPECT_EQ(run_program("sessions export " + file + ":r --html " + file + ".html").exit_code, 0);
  const std::string page = read_file(file + ".html");
  EXPECT_THAT(
      page, HasSubstr("\"next\":\"hybridscope sessions show " + file + ":r --step 4 --explain\""));
  EXPECT_THAT(page, HasSubstr("skipped-step-forgets-accepted-count"));
}

TEST_F(Sessions, ListTellsEachSessionInALine) {
  const ProgramResult list = sessions("list " + file_);
  ASSERT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out,
              ContainsRegex("before +complete +run +full +tiny-mamba2 +align +safe +1 +3"));
  const auto json = nlohmann::json::parse(sessions("list " + file_ + " --json").out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["name"], "before");
  EXPECT_EQ(json[0]["num_steps"], 3);
  EXPECT_EQ(json[0]["status"], "complete");
}

TEST_F(Sessions, ShowPrintsTheStepsAsTheRunDid) {
  const ProgramResult show = sessions("show " + file_ + ":before");
  ASSERT_EQ(show.exit_code, 0) << show.err;
  const std::string run = run_program(std::string("run ") + kScenario).out;
  const std::string table =
      run.substr(run.find("step  "), run.find("requests: class") - run.find("step  "));
  EXPECT_THAT(show.out, HasSubstr(table));
}

// The sums of a step, and none of the lists that the level does not keep.
TEST_F(Sessions, ShowTellsTheSumsThatLevelCountsKeeps) {
  ASSERT_EQ(run_program(std::string("run -q ") + kScenario + " --record " + file_ +
                        ":counts --record-level counts")
                .exit_code,
            0);
  const ProgramResult show = sessions("show " + file_ + ":counts");
  ASSERT_EQ(show.exit_code, 0) << show.err;
  EXPECT_THAT(show.out, HasSubstr("\n   1  1 row | 6 tokens | 1 prefill               =12 "));
  EXPECT_THAT(show.out, HasSubstr("\n   2  1 row | 2 tokens | 1 draft                 =11     1 "));
  EXPECT_THAT(show.out, HasSubstr("Recorded at level counts"));
  EXPECT_THAT(show.out, Not(HasSubstr("nothing scheduled")));
  EXPECT_THAT(show.out, Not(HasSubstr("+0 -0")));
  const auto json =
      nlohmann::json::parse(sessions("show " + file_ + ":counts --step 2 --json").out);
  EXPECT_EQ(json["level"], "counts");
  EXPECT_EQ(json["num_scheduled_tokens"], 2);
  EXPECT_EQ(json["counts"]["num_reqs"], 1);
  EXPECT_EQ(json["counts"]["num_draft_tokens"], 1);
  for (const char* list :
       {"rows", "skipped", "preempted", "pre_copies", "post_copies", "committed"})
    EXPECT_FALSE(json.contains(list)) << list;
  const auto full =
      nlohmann::json::parse(sessions("show " + file_ + ":before --step 2 --json").out);
  EXPECT_EQ(full["level"], "full");
  EXPECT_EQ(full["rows"].size(), 1u);
  EXPECT_EQ(full["counts"], json["counts"]);
}

TEST_F(Sessions, AJudgedSessionDoesNotKnowWhatIsFree) {
  const std::string trace = temporary_file("free.jsonl", "");
  ASSERT_EQ(run_program(std::string("run -q ") + kScenario + " --trace " + trace).exit_code, 0);
  ASSERT_EQ(run_program("judge " + trace + " --record " + file_ + ":judged").exit_code, 0);
  const std::string show = sessions("show " + file_ + ":judged").out;
  EXPECT_THAT(show, ContainsRegex("\\+[0-9]+ -[0-9]+ =- "));
  EXPECT_THAT(show, Not(HasSubstr(" =0 ")));
  const auto json =
      nlohmann::json::parse(sessions("show " + file_ + ":judged --step 1 --json").out);
  EXPECT_FALSE(json.contains("num_free_blocks"));
  std::filesystem::remove(trace);
}

// What explains a recorded step is what explained it when it ran.
TEST_F(Sessions, ShowExplainsAStepAsTheRunDid) {
  const ProgramResult show = sessions("show " + file_ + ":before --step 2 --explain");
  ASSERT_EQ(show.exit_code, 0) << show.err;
  const std::string run = run_program(std::string("run ") + kScenario + " --explain 2").out;
  EXPECT_THAT(run, HasSubstr("The replayed graph reads state_indices_tensor_d"));
  EXPECT_EQ(show.out, run);
}

TEST_F(Sessions, AStepThatIsNotThereIsNamed) {
  const ProgramResult show = sessions("show " + file_ + " --step 99 --explain");
  EXPECT_EQ(show.exit_code, 3);
  EXPECT_THAT(show.err, HasSubstr("99"));
  EXPECT_THAT(show.out, IsEmpty());
}

TEST_F(Sessions, ATableBeginsWithAStepThatIsThere) {
  const ProgramResult show = sessions("show " + file_ + " --step 200");
  EXPECT_EQ(show.exit_code, 3);
  EXPECT_THAT(show.err, HasSubstr("there is no step 200, expected one of the steps 1 to 3"));
  EXPECT_EQ(sessions("show " + file_ + " --step 3").exit_code, 0);
}

TEST_F(Sessions, ASessionThatIsNotThereIsNamedWithThoseThatAre) {
  const ProgramResult show = sessions("show " + file_ + ":after");
  EXPECT_EQ(show.exit_code, 3);
  EXPECT_THAT(show.err, HasSubstr("\"after\""));
  EXPECT_THAT(show.err, HasSubstr("before"));
}

TEST_F(Sessions, StatsSumUpTheSteps) {
  const auto json = nlohmann::json::parse(sessions("stats " + file_ + " --buckets 1 --json").out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["first_step"], 1);
  EXPECT_EQ(json[0]["last_step"], 3);
  EXPECT_EQ(json[0]["num_prompt_tokens"], 6);
  EXPECT_EQ(json[0]["num_output_tokens"], 4);
  EXPECT_EQ(json[0]["num_state_copies"], 2);
  EXPECT_EQ(json[0]["state_copy_bytes"], 1920);
  EXPECT_EQ(json[0]["num_padding_tokens"], 2);
  EXPECT_THAT(sessions("stats " + file_ + " --buckets 2").out, ContainsRegex("1-2 .*\n +3 "));
}

TEST_F(Sessions, QueriesReadAndNeverWrite) {
  const ProgramResult read =
      sessions("query " + file_ + " \"SELECT name, num_steps FROM sessions\"");
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_EQ(read.out, "name    num_steps\nbefore          3\n");
  const ProgramResult drop = sessions("query " + file_ + " \"DELETE FROM sessions\"");
  EXPECT_EQ(drop.exit_code, 3);
  EXPECT_THAT(drop.err, HasSubstr("would change the file"));
  for (const std::string& statement :
       {std::string("ATTACH 'no such.db' AS other"), "ATTACH '" + file_ + "' AS other",
        std::string("BEGIN"), std::string("DETACH main")}) {
    const ProgramResult other = sessions("query " + file_ + " \"" + statement + "\"");
    EXPECT_EQ(other.exit_code, 3) << statement;
    EXPECT_THAT(other.err, HasSubstr("reads no rows, and a query may only read (SELECT)\n"));
  }
  EXPECT_EQ(sessions("query " + file_ + " \"PRAGMA table_info(steps)\"").exit_code, 0);
  const ProgramResult two = sessions("query " + file_ + " \"SELECT 1; SELECT 2\"");
  EXPECT_EQ(two.exit_code, 3);
  EXPECT_THAT(two.err, HasSubstr("more than one statement"));
  const ProgramResult wrong = sessions("query " + file_ + " \"SELECT x FROM nowhere\"");
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("no such table: nowhere; the tables are "));
  for (const char* name : {" steps, ", "; the views are ", " v_copies"})
    EXPECT_THAT(wrong.err, HasSubstr(name));
  EXPECT_THAT(sessions("list " + file_).out, HasSubstr("before"));
}

TEST_F(Sessions, QueriesAreCutWhereTheLimitSays) {
  const ProgramResult some = sessions("query " + file_ + " \"SELECT step FROM steps\" --limit 2");
  EXPECT_EQ(some.out, "step\n   1\n   2\n");
  EXPECT_THAT(some.err, HasSubstr("first 2 rows"));
}

TEST_F(Sessions, NotesAreShownOnOneLineWhateverIsInThem) {
  const std::string note = R"sh( "$(printf 'two\nlines \033[31m <b>"quoted"</b>')")sh";
  ASSERT_EQ(sessions("note " + file_ + note).exit_code, 0);
  const std::string list = sessions("list " + file_).out;
  EXPECT_THAT(list, HasSubstr("two\\nlines \\x1B[31m <b>\"quoted\"</b>"));
  EXPECT_THAT(list, Not(HasSubstr("\x1b")));
  const ProgramResult broken = sessions("note " + file_ + R"sh( "$(printf '\377')")sh");
  EXPECT_EQ(broken.exit_code, 2);
  EXPECT_THAT(broken.err, HasSubstr("UTF-8"));
}

TEST_F(Sessions, BookmarksAreKeptShownAndRemoved) {
  ASSERT_EQ(sessions("bookmark " + file_ + " --step 2 --note 'the shift'").exit_code, 0);
  EXPECT_THAT(sessions("show " + file_).out, HasSubstr("bookmark 1 at step 2: the shift"));
  EXPECT_EQ(sessions("bookmark " + file_ + " --step 99").exit_code, 3);
  EXPECT_EQ(sessions("bookmark " + file_ + " --remove 1").exit_code, 0);
  EXPECT_THAT(sessions("bookmark " + file_).out, HasSubstr("no bookmarks"));
}

TEST_F(Sessions, ABookmarkOfNoStepNamesTheSessionAndItsSteps) {
  const ProgramResult none = sessions("bookmark " + file_ + " --step 99");
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr(file_ + ":before: there is no step 99, expected one of the "
                                          "steps 1 to 3"));
  EXPECT_EQ(sessions("bookmark " + file_ + " --remove 0").exit_code, 2);
  EXPECT_EQ(sessions("bookmark " + file_ + " --remove=-1").exit_code, 2);
}

TEST_F(Sessions, ANameOrANoteThatCannotBeIsMisuse) {
  EXPECT_EQ(sessions("rename " + file_ + ":before ' '").exit_code, 2);
  EXPECT_EQ(sessions("rename " + file_ + ":before \"$(printf 'a\\033')\"").exit_code, 2);
  EXPECT_EQ(sessions("note " + file_ + ":before \"$(printf 'a\\377')\"").exit_code, 2);
  ASSERT_EQ(
      run_program("run -q scenarios/plain_decode.json --record " + file_ + ":taken").exit_code, 0);
  const ProgramResult taken = sessions("rename " + file_ + ":before taken");
  EXPECT_EQ(taken.exit_code, 2);  // as --record says of it
  EXPECT_THAT(taken.err, HasSubstr("there is a session \"taken\" already"));
}

TEST(ModelName, ThatNobodyKnowsIsMisuseOfEveryCommandThatTakesOne) {
  for (const std::string command :
       {"model", "run --traffic synthetic --model", "run scenarios/plain_decode.json --model",
        "explain-cache --traffic synthetic --model"}) {
    const ProgramResult result = run_program(command + " nosuch");
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.err, HasSubstr("no model is called \"nosuch\"")) << command;
  }
  EXPECT_EQ(run_program("model nosuch.json").exit_code, 3);
}

TEST(ModelName, OfHuggingFaceStandsForItsPublishedShape) {
  const ProgramResult whole = run_program("model Qwen/Qwen3.8-27B --json");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_THAT(whole.out, HasSubstr("gdn_attention"));
  EXPECT_EQ(run_program("model nvidia/Qwen3.8-27B-NVFP4").exit_code, 0);
  EXPECT_THAT(run_program("model Qwen/Qwen3.8-28B").err,
              HasSubstr("did you mean \"Qwen/Qwen3.8-27B\"?"));
  EXPECT_THAT(run_program("model --list").out, HasSubstr("Qwen/Qwen3.8-27B"));
}

TEST_F(Sessions, RenameAndDelete) {
  ASSERT_EQ(sessions("rename " + file_ + ":before 'the \"first\" one'").exit_code, 0);
  EXPECT_EQ(sessions("delete " + file_).exit_code, 2);  // no name
  EXPECT_EQ(sessions("delete " + file_ + ":before").exit_code, 3);
  EXPECT_EQ(sessions("delete '" + file_ + ":the \"first\" one'").exit_code, 0);
  EXPECT_THAT(sessions("list " + file_).out, HasSubstr("holds no session"));
}

TEST_F(Sessions, AFileIsGivenWithoutANameWhereTheWholeFileIsMeant) {
  for (const std::string command : {"list ", "query "}) {
    const ProgramResult result =
        sessions(command + file_ + ":before" + (command == "query " ? " \"SELECT 1\"" : ""));
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.err, HasSubstr("takes a file without a session's name, expected " + file_));
  }
}

TEST(SessionsCommand, EachOneHasAnExampleAndAnUnknownOneIsNamed) {
  for (const std::string name : {"list", "show", "stats", "query", "rerun", "fork", "export",
                                 "import", "note", "bookmark", "rename", "delete"})
    EXPECT_THAT(run_program("sessions " + name + " --help").out,
                HasSubstr("\n  hybridscope sessions " + name))
        << name;
  const ProgramResult foo = run_program("sessions foo");
  EXPECT_EQ(foo.exit_code, 2);
  EXPECT_THAT(foo.err, HasSubstr("there is no command \"foo\" (list, show, stats, query,"));
}

TEST(SessionsCommand, FilesThatAreNoSessionsAreRefused) {
  EXPECT_EQ(run_program("sessions list README.md").exit_code, 3);
  EXPECT_EQ(run_program("sessions list nowhere.db").exit_code, 3);
  EXPECT_EQ(run_program("sessions").exit_code, 2);
}

}  // namespace
}  // namespace hybridscope::test::sessions_test
