// Lessons that are played: those that are part of the program have the engine's answers, and a
// sample shows what is said to answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/engine/releases.h"
#include "sessions/lessons/lesson.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/text/json_reader.h"
#include "sessions/weights/load_model.h"
#include "tests/sessions/lessons/lesson_sample.h"

namespace hybridscope::test::shipped_lessons_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string kFolder = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/lessons/";

class ShippedLesson : public testing::TestWithParam<std::string> {
 protected:
  static Lesson lesson() {
    auto lesson = shipped_lesson(GetParam());
    EXPECT_TRUE(lesson.ok()) << lesson.error().message;
    return lesson.ok() ? std::move(lesson).value() : Lesson{};
  }
};

// Everything that a person reads.
std::vector<std::string> texts_of(const Lesson& lesson) {
  std::vector<std::string> texts = {lesson.title, lesson.teaches};
  for (const LessonPart& part : lesson.parts) {
    texts.insert(texts.end(), part.text.begin(), part.text.end());
    for (const LessonQuestion& question : part.questions) {
      texts.push_back(question.ask);
      texts.push_back(question.because);
      for (const LessonMistake& mistake : question.mistakes) texts.push_back(mistake.words);
    }
  }
  return texts;
}

TEST_P(ShippedLesson, AnswersAreTheEngines) {
  for (const LessonProblem& problem : check_lesson(lesson())) ADD_FAILURE() << problem.message;
}

TEST_P(ShippedLesson, LanguageModelSaysWhatTheLessonSays) {
  if (num_sayings(lesson()) == 0) return;
  auto loaded = load_model(std::string(HYBRIDSCOPE_SOURCE_DIR "/") + kShippedModel);
  const auto model = std::make_shared<const HybridModel>(std::move(loaded).value().model);
  for (const LessonProblem& problem : check_sayings(lesson(), model))
    ADD_FAILURE() << problem.message;
  Lesson changed = lesson();
  changed.parts.resize(1);
  changed.parts[0].says[0].text += "!";
  const std::vector<LessonProblem> problems = check_sayings(changed, model);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].message,
              HasSubstr(", part 1: A says \"2?g=2.!\" in the lesson, \"2?g=2.\" in the model"));
}

// Each mistake is answered as a learner would, and its words with the engine's numbers come back.
TEST_P(ShippedLesson, ForeseesAMistakeInEveryQuestionAndNoneIsTheEnginesAnswer) {
  LessonRun run = LessonRun::create(lesson()).value();
  for (std::size_t p = 0; p < run.lesson().parts.size(); ++p) {
    ASSERT_TRUE(run.go_to_part(p).ok());
    for (std::size_t q = 0; q < run.part().questions.size(); ++q) {
      const std::string& ask = run.part().questions[q].ask;
      const EngineAnswer& engine = run.answer_of(q).value();
      EXPECT_THAT(engine.mistakes, Not(IsEmpty())) << ask;
      for (const LessonMistake& mistake : engine.mistakes) {
        const CheckedAnswer checked = run.check(q, mistake.answer).value();
        EXPECT_EQ(checked.verdict, AnswerVerdict::wrong) << ask;
        EXPECT_THAT(checked.words, HasSubstr(".\n" + mistake.words + "\n" + engine.because));
      }
    }
  }
}

TEST_P(ShippedLesson, AsksThreeQuestionsOrMoreAndOneOfThemBeforeTheStepIsShown) {
  const Lesson taken = lesson();
  EXPECT_GE(num_questions(taken), 3U);
  EXPECT_TRUE(std::ranges::any_of(
      taken.parts, [](const LessonPart& part) { return part.predict && !part.questions.empty(); }));
}

TEST_P(ShippedLesson, TextsArePrintableAscii) {
  for (const std::string& text : texts_of(lesson()))
    for (const char c : text) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
}

TEST_P(ShippedLesson, TextsAreSentencesAndThoseOfMistakesShort) {
  const Lesson taken = lesson();
  EXPECT_LE(taken.title.size(), 60U);
  EXPECT_TRUE(taken.teaches.ends_with('.')) << taken.teaches;
  for (const LessonPart& part : taken.parts) {
    for (const std::string& text : part.text) EXPECT_TRUE(text.ends_with('.')) << text;
    for (const LessonQuestion& question : part.questions) {
      EXPECT_NE(question.ask.find('?'), std::string::npos) << question.ask;
      EXPECT_TRUE(question.because.ends_with('.')) << question.because;
      EXPECT_NE(question.because.find("vLLM "), std::string::npos) << question.because;
      for (const LessonMistake& mistake : question.mistakes) {
        EXPECT_TRUE(mistake.words.ends_with('.')) << mistake.words;
        EXPECT_LE(mistake.words.size(), 200U) << mistake.words;
      }
    }
  }
}

TEST_P(ShippedLesson, EveryPartShowsAPanel) {
  for (const LessonPart& part : lesson().parts)
    EXPECT_THAT(lesson_panels(), testing::Contains(part.show.panel));
}

TEST_P(ShippedLesson, IsTheFileOfScenarios) {
  const auto file = read_lesson_file(kFolder + GetParam() + ".json");
  ASSERT_TRUE(file.ok()) << file.error().message;
  Lesson of_file = file.value();
  const Lesson embedded = lesson();
  of_file.scenario_file = embedded.scenario_file;  // that of the file is absolute
  EXPECT_TRUE(of_file == embedded) << "the program was built with another version of the file";
}

// For every question an answer that differs from the engine's must be found.
TEST_P(ShippedLesson, AChangedNumberIsFound) {
  const Lesson right = lesson();
  for (std::size_t p = 0; p < right.parts.size(); ++p)
    for (std::size_t q = 0; q < right.parts[p].questions.size(); ++q) {
      Lesson wrong = right;
      wrong.parts[p].questions[q].answer += "1";
      EXPECT_EQ(check_lesson(wrong).size(), 1U) << p << " " << q;
    }
}

std::vector<std::string> names() {
  const auto shipped = shipped_lesson_names();
  return {shipped.begin(), shipped.end()};
}

INSTANTIATE_TEST_SUITE_P(All, ShippedLesson, testing::ValuesIn(names()),
                         [](const auto& name) { return name.param; });

TEST(ShippedLessons, AreEightOrMoreAndBeginWithTheLifeOfARequest) {
  EXPECT_GE(shipped_lesson_names().size(), 8U);
  EXPECT_EQ(shipped_lesson_names().front(), "request_life");
}

// One part a step, from arrival to free, in one run.
TEST(ShippedLessons, ARequestsLifeHasTenSteps) {
  const Lesson life = shipped_lesson("request_life").value();
  ASSERT_EQ(life.parts.size(), 10U);
  for (std::size_t i = 0; i < life.parts.size(); ++i) {
    EXPECT_EQ(life.parts[i].step, static_cast<std::int64_t>(i) + 1);
    EXPECT_TRUE(life.parts[i].settings == EngineSettings{});
  }
}

// The fenced example of the format's document, as a file beside it.
TEST(LessonDocument, ExampleIsALessonWhoseAnswersAreTheEngines) {
  const std::string root = HYBRIDSCOPE_SOURCE_DIR;
  const std::string text = read_text_file(root + "/docs/workbench.md").value();
  const std::string fence = "```json\n";
  const std::size_t first = text.find(fence) + fence.size();
  const std::string example = text.substr(first, text.find("```", first) - first);
  const auto lesson =
      parse_lesson({.text = example, .file = root + "/docs/example.json"}, read_text_file);
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  for (const LessonProblem& problem : check_lesson(lesson.value()))
    ADD_FAILURE() << problem.message;
  for (const std::string_view panel : lesson_panels())
    EXPECT_NE(text.find("`" + std::string(panel) + "`"), std::string::npos) << panel;
}

TEST(ShippedLessons, AreAllFilesOfTheFolder) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    files.insert(entry.path().stem().string());
  for (const std::string_view name : shipped_lesson_names()) files.erase(std::string(name));
  EXPECT_THAT(files, IsEmpty()) << "not listed in sessions/lessons/CMakeLists.txt";
}

// Interval 0 is the default from 0.29.0 on, hits inside blocks came with 0.26.0, checkpoints inside
// prefills of Mamba2 with 0.32.0: their lessons have the same answers in each release since, with
// prefix caching, which is off by itself before 0.28.0.
TEST(ShippedLessons, OfWhatReleasesBroughtHoldInEveryReleaseSince) {
  for (const auto& [name, since] :
       {std::pair{"retention", Release::v0_29_0}, std::pair{"hits_inside_blocks", Release::v0_26_0},
        std::pair{"prefill_checkpoints", Release::v0_32_0}})
    for (auto release = since; release <= kNewestRelease;
         release = static_cast<Release>(static_cast<int>(release) + 1)) {
      Lesson lesson = shipped_lesson(name).value();
      lesson.scenario.settings.engine = EngineProfile::vllm(release);
      lesson.scenario.settings.enable_prefix_caching = true;
      for (const LessonProblem& problem : check_lesson(lesson))
        ADD_FAILURE() << release_name(release) << ": " << problem.message;
    }
}

TEST(ShippedLessons, OneThatThereIsNotNamesTheNearest) {
  const auto lesson = shipped_lesson("align_bounday");
  ASSERT_FALSE(lesson.ok());
  EXPECT_EQ(lesson.error().kind, ErrorKind::not_found);
  EXPECT_EQ(lesson.error().message.substr(0, 68),
            "there is no lesson \"align_bounday\", did you mean \"align_boundary\"? (");
}

// A lesson that is played: answers from the engine, and what is said to answers.

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
}  // namespace hybridscope::test::shipped_lessons_test
