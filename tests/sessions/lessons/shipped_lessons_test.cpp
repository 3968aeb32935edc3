// Every lesson that is part of the program: its answers are the engine's.
#include "sessions/lessons/lesson_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "core/engine/releases.h"
#include "sessions/lessons/lesson_run.h"
#include "sessions/text/json_reader.h"
#include "sessions/weights/load_model.h"

namespace hybridscope::shipped_lessons_test {
namespace {

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
  const std::string text = read_text_file(root + "/docs/lessons.md").value();
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

}  // namespace
}  // namespace hybridscope::shipped_lessons_test
