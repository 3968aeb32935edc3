// A lesson that is played: answers from the engine, and what is said to answers.
#include "sessions/lessons/lesson_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/sessions/lessons/lesson_sample.h"

namespace hybridscope::test::lesson_run_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

// A run at part `part` of the sample with one question changed.
LessonRun run_with(const json& change, json document = sample_lesson()) {
  document["parts"][0]["questions"][0].update(change);
  LessonRun run = LessonRun::create(read_sample(document)).value();
  EXPECT_TRUE(run.go_to_part(0).ok());
  return run;
}

std::string answer_with(const json& change) {
  json question = {{"because", "None."}};
  question.update(change);
  const LessonRun run = run_with(question);
  const auto& answer = run.answer_of(0);
  return answer.ok() ? answer.value().words : answer.error().message;
}

TEST(LessonRun, AnswersFromTheEngineInWords) {
  EXPECT_EQ(answer_with(json::object()), "0");
  EXPECT_EQ(answer_with({{"value", "copy.accept_token_bias"}, {"answer", 5}}), "1");
  EXPECT_EQ(answer_with({{"value", "copy.outcome"}, {"answer", "copy"}}), "within_block_shift");
  EXPECT_EQ(answer_with({{"value", "copy.copies"}, {"answer", false}}), "yes");
  EXPECT_EQ(answer_with({{"value", "row.request"}, {"answer", "B"}}), "A");
  EXPECT_EQ(answer_with({{"value", "num_free_blocks"}}), "11");
}

TEST(LessonRun, AnswersFromBlockTablesWritesAndMetadata) {
  EXPECT_EQ(answer_with({{"value", "table.block"}, {"where", "table.group==1 && table.col==1"}}),
            "3");
  EXPECT_EQ(answer_with({{"value", "write.num_tokens"},
                         {"where",
                          "write.content==temporal && write.kind==decode && "
                          "write.col==1"}}),
            "8");
  EXPECT_EQ(answer_with({{"value", "metadata.value"},
                         {"where", "metadata.name==state_indices_tensor_d && metadata.j==0"}}),
            "2");
}

TEST(LessonRun, BecauseIsFilledInFromTheStep) {
  EXPECT_EQ(run_with(json::object()).answer_of(0).value().because, "8 / 8 - 1 = 0.");
}

TEST(LessonRun, AValueHasToBeThereOnce) {
  EXPECT_EQ(answer_with({{"where", "copy.request==B"}}),
            "lesson, part 1, question 1: copy.dst_col where copy.request==B has no value in step 2 "
            "(expected one)");
  EXPECT_EQ(answer_with({{"value", "copy.outcome"}, {"where", "copy"}, {"answer", "copy"}}),
            "lesson, part 1, question 1: copy.outcome where copy has 2 values: within_block_shift "
            "same_column in step 2 (expected one)");
  EXPECT_EQ(answer_with({{"because", "{row.slot} {table.col}"}}),
            "lesson, part 1, question 1: table.col where copy.request==A && copy.launch==1 has "
            "10 values: 0 1 2 3 ... in step 2 (expected one)");
}

TEST(LessonRun, SaysRightOrWrongAndWhy) {
  const LessonRun run = run_with(json::object());
  const CheckedAnswer right = run.check(0, " 0 ").value();
  EXPECT_EQ(right.verdict, AnswerVerdict::right);
  EXPECT_EQ(right.words, "Right: 0. 8 / 8 - 1 = 0.");
  const CheckedAnswer wrong = run.check(0, "1").value();
  EXPECT_EQ(wrong.verdict, AnswerVerdict::wrong);
  EXPECT_EQ(wrong.words, "Not 1 but 0. 8 / 8 - 1 = 0.");
  const CheckedAnswer unreadable = run.check(0, "zero").value();
  EXPECT_EQ(unreadable.verdict, AnswerVerdict::unreadable);
  EXPECT_EQ(unreadable.words, "expected a whole number, found \"zero\"");
}

TEST(LessonRun, AForeseenMistakeIsExplainedInALineBeforeTheReason) {
  const LessonRun run = run_with(
      {{"mistakes", {{"1", "Column {copy.dst_col} ends at {copy.aligned_new_computed}."}}}});
  const CheckedAnswer foreseen = run.check(0, " 01").value();
  EXPECT_EQ(foreseen.verdict, AnswerVerdict::wrong);
  EXPECT_EQ(foreseen.words, "Not 1 but 0.\nColumn 0 ends at 8.\n8 / 8 - 1 = 0.");
  EXPECT_EQ(run.check(0, "2").value().words, "Not 2 but 0. 8 / 8 - 1 = 0.");
  EXPECT_EQ(run.check(0, "0").value().words, "Right: 0. 8 / 8 - 1 = 0.");
}

TEST(LessonRun, AMistakeThatNamesAFieldWithoutAValueIsAnError) {
  EXPECT_EQ(answer_with({{"mistakes", {{"1", "{table.col}"}}}}),
            "lesson, part 1, question 1: table.col where copy.request==A && copy.launch==1 has "
            "10 values: 0 1 2 3 ... in step 2 (expected one)");
}

TEST(LessonRun, AnswersStayWhenSomebodyMovesThePlayer) {
  LessonRun run = run_with(json::object());
  EXPECT_EQ(run.player().number(), 2);
  ASSERT_TRUE(run.player().go_to(1).ok());
  EXPECT_EQ(run.player().number(), 1);
  EXPECT_EQ(run.check(0, "0").value().verdict, AnswerVerdict::right);
}

// Three parts: the sample's, one step later, and the sample's step in mode none.
json three_parts() {
  json document = sample_lesson();
  json& parts = document["parts"];
  parts.push_back(parts[0]);
  parts[1]["step"] = 3;
  parts[1]["questions"][0].update(
      {{"where", "copy.request==A && copy.launch==0"}, {"answer", 1}, {"because", "{answer}."}});
  parts.push_back(parts[0]);
  parts[2]["settings"]["mamba_cache_mode"] = "none";
  parts[2]["questions"][0].update(
      {{"value", "num_copies"}, {"where", "true"}, {"because", "None."}});
  return document;
}

TEST(LessonRun, GoesToPartsInAnyOrderAndStartsAnewForOtherSettings) {
  LessonRun run = LessonRun::create(read_sample(three_parts())).value();
  ASSERT_TRUE(run.go_to_part(1).ok());
  EXPECT_EQ(run.part_index(), 1U);
  EXPECT_EQ(run.answer_of(0).value().words, "1");
  ASSERT_TRUE(run.go_to_part(2).ok());
  EXPECT_EQ(run.player().run().engine().config().mamba_cache_mode, MambaCacheMode::none);
  EXPECT_EQ(run.answer_of(0).value().words, "0");
  ASSERT_TRUE(run.go_to_part(0).ok());
  EXPECT_EQ(run.player().run().engine().config().mamba_cache_mode, MambaCacheMode::align);
  EXPECT_EQ(run.answer_of(0).value().words, "0");
}

TEST(LessonRun, AStepThatThereIsNotNamesThePart) {
  json document = three_parts();
  document["parts"][1]["step"] = 9;
  LessonRun run = LessonRun::create(read_sample(document)).value();
  const Status moved = run.go_to_part(1);
  ASSERT_FALSE(moved.ok());
  EXPECT_EQ(moved.error().message, "lesson, part 2: there is no step 9: after 3 comes none");
}

std::vector<std::string> problems_of(const json& document) {
  std::vector<std::string> messages;
  for (const LessonProblem& problem : check_lesson(read_sample(document)))
    messages.push_back(problem.message);
  return messages;
}

TEST(CheckLesson, FindsNothingWhereLessonAndEngineAgree) {
  EXPECT_THAT(problems_of(three_parts()), IsEmpty());
}

TEST(CheckLesson, FindsAStoredAnswerThatIsWrong) {
  json document = three_parts();
  document["parts"][1]["questions"][0]["answer"] = 2;
  EXPECT_THAT(problems_of(document),
              ElementsAre("lesson, part 2, question 1: the lesson says 2, the engine 1"));
  const auto problems = check_lesson(read_sample(document));
  EXPECT_EQ(problems.at(0).part, 2U);
  EXPECT_EQ(problems.at(0).question, 1U);
}

TEST(CheckLesson, GoesOnAfterAPartThatCannotBePlayed) {
  json document = three_parts();
  document["parts"][1]["step"] = 9;
  document["parts"][2]["questions"][0]["answer"] = 7;
  EXPECT_THAT(problems_of(document),
              ElementsAre("lesson, part 2: there is no step 9: after 3 comes none",
                          "lesson, part 3, question 1: the lesson says 7, the engine 0"));
}

TEST(CheckLesson, SaysWhatTheScenariosPlanRefuses) {
  json document = three_parts();
  document["scenario"]["settings"]["num_gpu_blocks_override"] = 2;
  const auto problems = problems_of(document);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].substr(0, 21), "lesson: lesson.json: ");
}

}  // namespace
}  // namespace hybridscope::test::lesson_run_test
