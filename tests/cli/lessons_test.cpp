// hybridscope lessons.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "cli/lessons_command.h"
#include "sessions/lessons/lesson.h"
#include "tests/cli/program.h"

namespace hybridscope::test::lessons_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const std::string kAlignBoundary =
    std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/lessons/align_boundary.json";

// The lesson align_boundary with another answer to its first question, as a file of one's own.
std::string broken_lesson() {
  json lesson = json::parse(read_file(kAlignBoundary));
  lesson["parts"][0]["questions"][0]["answer"] = 4;
  lesson["scenario"] = json::parse(read_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                             "/scenarios/align_boundary_by_accepted_drafts.json"));
  return temporary_file("broken.json", lesson.dump());
}

TEST(Lessons, AreListed) {
  const ProgramResult list = run_program("lessons");
  EXPECT_EQ(list.exit_code, 0) << list.err;
  EXPECT_THAT(list.out, StartsWith("name "));
  EXPECT_THAT(list.out,
              HasSubstr("align_boundary         The copies at a block boundary in mode align"
                        "       3          9\n"));
  EXPECT_EQ(run_program("lessons list").out, list.out);
}

TEST(Lessons, AreListedAsJson) {
  const json list = json::parse(run_program("lessons list --json").out);
  ASSERT_GE(list.size(), 8U);
  EXPECT_EQ(list[0]["name"], "request_life");
  EXPECT_EQ(list[0]["parts"], 10);
  EXPECT_EQ(list[1]["name"], "block_tables");
  EXPECT_EQ(list[3]["name"], "block_size");
  EXPECT_EQ(list[4]["name"], "retention");
  EXPECT_EQ(list[5]["name"], "hits_inside_blocks");
  EXPECT_EQ(list[6]["name"], "prefill_checkpoints");
  EXPECT_EQ(list[7]["scenario"], "scenarios/align_boundary_by_accepted_drafts.json");
  EXPECT_EQ(list[7]["parts"], 3);
  EXPECT_EQ(list[7]["questions"], 9);
}

TEST(Lessons, ArePartOfTheProgramWhereverItRuns) {
  const ProgramResult check = run_program("lessons check", "-C /");
  EXPECT_EQ(check.exit_code, 0) << check.err;
  EXPECT_THAT(check.out, HasSubstr("all answers are the engine's"));
}

TEST(Lessons, AreShownWithoutAnswersUnlessAsked) {
  const ProgramResult hidden = run_program("lessons show align_boundary");
  EXPECT_EQ(hidden.exit_code, 0) << hidden.err;
  EXPECT_THAT(hidden.out, HasSubstr("Part 2 of 3: step 2, questions first\n"));
  EXPECT_THAT(hidden.out, HasSubstr("Question 3: What is the bias of the post-copy?\n"));
  EXPECT_THAT(hidden.out, HasSubstr("One of: copy, within_block_shift, no_boundary\n"));
  EXPECT_THAT(hidden.out, Not(HasSubstr("copy.accept_token_bias")));
  EXPECT_THAT(run_program("lessons show align_boundary --answers").out,
              HasSubstr("Answer: 1, that is copy.accept_token_bias where copy.request==A && "
                        "copy.launch==1\n"));
}

TEST(Lessons, AreShownWithTheMistakesThatAreForeseen) {
  EXPECT_THAT(run_program("lessons show align_boundary").out, Not(HasSubstr(" is answered: ")));
  EXPECT_THAT(run_program("lessons show align_boundary --answers").out,
              HasSubstr("\nIf 2 is answered: Block 2 is in column 0 and has the running state. "));
}

TEST(Lessons, RunWithoutATerminalAnswersByTheEngine) {
  const ProgramResult run = run_program("lessons run align_boundary");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("Question 3: What is the bias of the post-copy?\n"
                                 "The engine: 1. new = running + a - 1 = 7 + 2 - 1 = 8, "));
  EXPECT_THAT(run.out, HasSubstr("\n9 questions, the lesson's answers are the engine's\n"));
}

TEST(Lessons, TheStepIsShownBeforeQuestionsUnlessTheyAreToBePredicted) {
  const std::string out = run_program("lessons run align_boundary").out;
  EXPECT_LT(out.find("Step 1 at 0 us"), out.find("Question 1:"));
  EXPECT_GT(out.find("Step 2 at 20.18 ms"), out.find("Question 6:"));
  EXPECT_LT(out.find("Step 2 at 20.18 ms"), out.find("Part 3 of 3"));
}

TEST(Lessons, AnswersMayComeFromAFile) {
  const std::string answers = temporary_file("answers", "3\n7\ntwo\n\nwithin-block shift\n");
  const ProgramResult run = run_program("lessons run align_boundary --answers-from " + answers);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("\nRight: 3. A gets 1 + K = 2 blocks in group 1"));
  EXPECT_THAT(run.out, HasSubstr("\nexpected a whole number, found \"two\"\nThe engine: 1. "));
  EXPECT_THAT(run.out, HasSubstr("\nQuestion 4: To which column is the state at the boundary "
                                 "copied?\nThe engine: 0. "));
  EXPECT_THAT(run.out, HasSubstr("\nRight: within_block_shift. "));
  EXPECT_THAT(run.out, HasSubstr("\n3 of 9 questions answered, 3 right\n"));
}

TEST(Lessons, AnswersMayBePipedIn) {
  const std::string answers = temporary_file("piped", "2\n");
  const ProgramResult run = run_program("lessons run align_boundary --answers-from - <" + answers);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out,
              HasSubstr("\nNot 2 but 3.\nBlock 2 is in column 0 and has the running state. "
                        "The spare column is the one behind it.\nA gets 1 + K = 2 blocks"));
  EXPECT_THAT(run.out, HasSubstr("\n1 of 9 questions answered, 0 right\n"));
}

TEST(Lessons, AStoredAnswerThatIsNotTheEnginesIsExitCode1) {
  const std::string file = broken_lesson();
  const ProgramResult run = run_program("lessons run " + file);
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("part 1, question 1: the lesson says 4, the engine 3\n"));
  EXPECT_THAT(run.out, HasSubstr("1 of 9 questions: the lesson and the engine do not agree\n"));
  const ProgramResult check = run_program("lessons check graph_padding " + file);
  EXPECT_EQ(check.exit_code, 1);
  EXPECT_THAT(check.out, HasSubstr("part 1, question 1: the lesson says 4, the engine 3\n"
                                   "2 lessons, 17 questions: 1 problem\n"));
}

TEST(Lessons, ChecksAreJsonToo) {
  const ProgramResult check = run_program("lessons check --json " + broken_lesson());
  EXPECT_EQ(check.exit_code, 1);
  const json report = json::parse(check.out);
  EXPECT_EQ(report["questions"], 9);
  EXPECT_EQ(report["problems"], 1);
  EXPECT_EQ(report["lessons"][0]["problems"][0]["part"], 1);
  EXPECT_EQ(report["lessons"][0]["problems"][0]["question"], 1);
}

TEST(Lessons, ANameThatThereIsNotIsUsage) {
  const ProgramResult run = run_program("lessons run align_bounday");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, StartsWith("hybridscope lessons run: there is no lesson \"align_bounday\", "
                                  "did you mean \"align_boundary\"? (there are request_life, "));
  const ProgramResult command = run_program("lessons play");
  EXPECT_EQ(command.exit_code, 2);
  EXPECT_EQ(command.err,
            "hybridscope lessons: there is no command \"play\" (list, show, run, check, export)\n");
}

TEST(Lessons, AFileThatCannotBeReadIsInput) {
  const ProgramResult absent = run_program("lessons run no/such.json");
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_EQ(absent.err,
            "hybridscope lessons run: no/such.json: cannot be opened: No such file or directory\n");
  const ProgramResult bad = run_program("lessons check " + temporary_file("bad.json", "{"));
  EXPECT_EQ(bad.exit_code, 3);
  EXPECT_THAT(bad.err, HasSubstr("bad.json:1:2: "));
  const ProgramResult answers = run_program("lessons run gdn_rows --answers-from no/such");
  EXPECT_EQ(answers.exit_code, 3);
  EXPECT_EQ(answers.err,
            "hybridscope lessons run: no/such: cannot be opened: No such file or directory\n");
}

// What a terminal shows when these lines are typed, then Ctrl-D; `state`: where progress is kept;
// `name`: what the lesson was called.
std::string played(const std::string& typed, const std::string& state = "",
                   const std::string& name = "align_boundary") {
  LessonProgress progress(state);
  std::string_view left = typed;
  LineSource answers("<typed>", [&](std::span<char> bytes) -> Result<std::size_t> {
    const std::size_t count = left.copy(bytes.data(), bytes.size());
    left.remove_prefix(count);
    return count;
  });
  testing::internal::CaptureStdout();
  const Lesson lesson = shipped_lesson("align_boundary").value();
  EXPECT_EQ(play_lesson({.lesson = lesson, .typed = name, .key = name}, AnswerSource::terminal,
                        answers, progress),
            0);
  return testing::internal::GetCapturedStdout();
}

TEST(LessonPlay, ATerminalAsksAgainForWhatIsNoAnswer) {
  const std::string out = played("3\n7\ntwo\n1\n");
  EXPECT_THAT(out, HasSubstr("Question 3: What is the bias of the post-copy?\n"
                             "> expected a whole number, found \"two\"\n"
                             "> Right: 1. new = running + a - 1"));
  EXPECT_THAT(out, HasSubstr("\n3 of 9 questions answered, 3 right\n"));
}

TEST(LessonPlay, AnEmptyLineShowsTheAnswerAndCtrlDLeaves) {
  const std::string out = played("\n2\n");
  EXPECT_THAT(out, HasSubstr("for the state after a draft?\n> The engine: 3. "));
  EXPECT_THAT(out, HasSubstr("folded (running)?\n> Not 2 but 7. "));
  EXPECT_THAT(out, testing::EndsWith("the bias of the post-copy?\n> \n\n"
                                     "1 of 9 questions answered, 0 right\n"));
}

TEST(LessonPlay, TheCommandThatGoesOnIsTheOneThatWasTyped) {
  const std::string state = test::temporary_file("lessons.json", "{}");
  const std::string file = "my lessons/it's.json";
  EXPECT_THAT(
      played("3\n", state, file),
      HasSubstr("\nhybridscope lessons run 'my lessons/it'\\''s.json' goes on with question "
                "2\n"));
  // Another lesson's place is its own.
  EXPECT_THAT(played("q\n", state), HasSubstr("goes on with question 1\n"));
  EXPECT_THAT(played("q\n", state, file), HasSubstr("goes on with question 2\n"));
}

TEST(LessonPlay, APlaceThatCannotBeKeptIsNotedOnceAndTheLessonGoesOn) {
  const std::string state = test::temporary_file("not_a_folder", "") + "/lessons.json";
  testing::internal::CaptureStderr();
  const std::string out = played("3\n7\n1\n?\n", state);
  const std::string err = testing::internal::GetCapturedStderr();
  EXPECT_THAT(out, HasSubstr("\nQuestion 4: "));
  EXPECT_THAT(out, HasSubstr("\n3 of 9 questions answered, 3 right\n"));
  EXPECT_THAT(out, Not(HasSubstr(" goes on with question ")));
  EXPECT_THAT(err, StartsWith("note: the next run begins at the first question: cannot write "));
  EXPECT_EQ(std::ranges::count(err, '\n'), 1) << err;
}

TEST(LessonPlay, BackAsksTheQuestionBeforeAlsoInTheFirstPart) {
  const std::string out = played("back\n3\nback\n2\n");
  EXPECT_THAT(out, HasSubstr("> This is the first question.\n> Right: 3. "));
  EXPECT_THAT(out, HasSubstr("\nQuestion 2: "));
  const std::size_t second = out.find("\nQuestion 2: ");
  EXPECT_NE(out.find("\nQuestion 1: ", second), std::string::npos);
  EXPECT_THAT(out, HasSubstr("> Not 2 but 3."));
  EXPECT_THAT(out, HasSubstr("\n1 of 9 questions answered, 0 right\n"));  // the last answer counts
}

TEST(LessonPlay, BackLeadsToThePartBefore) {
  const std::string out = played("3\nback\n");
  const std::size_t part = out.find("\nPart 2 of 3");
  ASSERT_NE(part, std::string::npos);
  EXPECT_NE(out.find("\nPart 1 of 3", part), std::string::npos);
}

TEST(LessonPlay, AHintNamesTheFieldAndAQuestionMarkTheWords) {
  const std::string out = played("3\n7\nhint\n?\n");
  EXPECT_THAT(out, HasSubstr("> The engine's copy.accept_token_bias where copy.request==A && "
                             "copy.launch==1;"));
  EXPECT_THAT(out, HasSubstr("> An answer, or an empty line to see the engine's; hint says"));
}

TEST(LessonPlay, WhoLeavesGoesOnThere) {
  const std::string state = test::temporary_file("lessons.json", "{}");
  const std::string first = played("3\n7\n1\nq\n", state);
  EXPECT_THAT(first, Not(HasSubstr("\nQuestion 5: ")));
  EXPECT_THAT(first, HasSubstr("\n3 of 9 questions answered, 3 right\nhybridscope lessons run "
                               "align_boundary goes on with question 4\n"));
  const std::string second = played("0\n", state);
  EXPECT_THAT(second, HasSubstr("\nYou left before question 4; back goes to the ones before.\n"));
  EXPECT_THAT(second, Not(HasSubstr("\nQuestion 3: ")));
  EXPECT_THAT(second, HasSubstr("\n4 of 9 questions answered, 4 right\n"));
  EXPECT_THAT(played("q\n", state), HasSubstr("\nYou left before question 5; "));
  // A lesson that was taken to its end begins anew.
  EXPECT_THAT(played("\n\n\n\n\n", state), HasSubstr("\nQuestion 9: "));
  EXPECT_THAT(played("q\n", state), HasSubstr("goes on with question 1\n"));
}

TEST(LessonPlay, ProgressThatCannotBeReadBeginsAnew) {
  for (const std::string text : {"", "[]", "{\"align_boundary\": 1}",
                                 "{\"align_boundary\": {\"question\": 99, \"answers\": \"r\"}}"})
    EXPECT_THAT(played("q\n", test::temporary_file("lessons.json", text)),
                HasSubstr("\nQuestion 1: "))
        << text;
}

TEST(LessonProgress, LiesInTheFolderForState) {
  const auto path = [](const std::string& state, const std::string& home) {
    return lesson_progress_path(
        [&](const char* name) { return std::string(name) == "HOME" ? home : state; });
  };
  EXPECT_EQ(path("/state", "/home/a"), "/state/hybridscope/lessons.json");
  EXPECT_EQ(path("", "/home/a"), "/home/a/.local/state/hybridscope/lessons.json");
  EXPECT_EQ(path("", ""), "");
}

TEST(LessonPlay, NoShippedAnswerIsAWordThatIsTyped) {
  for (const std::string_view name : shipped_lesson_names()) {
    const Lesson lesson = shipped_lesson(name).value();
    for (const LessonPart& part : lesson.parts)
      for (const LessonQuestion& question : part.questions)
        for (const std::string_view word : kLessonWords) {
          EXPECT_NE(question.answer, word);
          EXPECT_THAT(question.choices, Not(testing::Contains(word)));
        }
  }
}

TEST(LessonView, EveryPanelHasSectionsOfItsOwn) {
  for (const std::string_view panel : lesson_panels()) {
    EXPECT_FALSE(topics_of_panel(panel).empty()) << panel;
    const bool is_default = std::ranges::equal(topics_of_panel(panel), topics_of_panel(""));
    EXPECT_EQ(is_default, panel == "requests") << panel;
  }
}

}  // namespace
}  // namespace hybridscope::test::lessons_test
