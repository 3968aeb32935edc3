// Lesson files, and what is said of bad ones.

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "sessions/lessons/lesson.h"
#include "tests/sessions/lessons/lesson_sample.h"

namespace hybridscope::test::lesson_reader_test {
namespace {

using nlohmann::json;

std::string error_after(const std::function<void(json&)>& change) {
  json document = sample_lesson();
  change(document);
  return sample_error(document);
}

std::string error_with_question(const std::function<void(json&)>& change) {
  return error_after([&](json& lesson) { change(lesson["parts"][0]["questions"][0]); });
}

TEST(LessonReader, TakesNameFromTheFileAndTheScenarioAsItStands) {
  const Lesson lesson = read_sample(sample_lesson());
  EXPECT_EQ(lesson.name, "lesson");
  EXPECT_EQ(lesson.title, "A boundary");
  EXPECT_EQ(lesson.scenario.requests.at(0).id, "A");
  EXPECT_EQ(lesson.scenario_file, "lesson.json");
  EXPECT_EQ(num_questions(lesson), 1U);
  ASSERT_EQ(lesson.parts.size(), 1U);
  EXPECT_EQ(lesson.parts[0].step, 2);
  EXPECT_FALSE(lesson.parts[0].predict);
  EXPECT_EQ(lesson.parts[0].questions.at(0).answer, "0");
}

TEST(LessonReader, WhatAModelSaysIsAParagraphToo) {
  json document = sample_lesson();
  document["parts"][0]["says"] = {{"A", "1."}};
  const LessonPart part = read_sample(document).parts.at(0);
  ASSERT_EQ(part.says.size(), 1U);
  EXPECT_EQ(part.says[0].text, "1.");
  EXPECT_EQ(part.text.back(), "The language model on these decisions: A says \"1.\".");
  document["parts"][0]["says"] = {{"C", "1."}};
  EXPECT_EQ(sample_error(document),
            "lesson.json: /parts/0/says/C: the scenario has no request \"C\"");
}

TEST(LessonReader, APathOfAScenarioIsRelativeToTheLesson) {
  json document = sample_lesson();
  const std::string scenario = document["scenario"].dump();
  document["scenario"] = "../plain.json";
  const std::string text = document.dump();
  std::string asked;
  const auto lesson = parse_lesson({.text = text, .file = "scenarios/lessons/one.json"},
                                   [&](const std::string& path) {
                                     asked = path;
                                     return Result<std::string>(scenario);
                                   });
  ASSERT_TRUE(lesson.ok()) << lesson.error().message;
  EXPECT_EQ(asked, "scenarios/plain.json");
  EXPECT_EQ(lesson.value().scenario_file, "scenarios/plain.json");
  EXPECT_EQ(lesson.value().name, "one");
}

TEST(LessonReader, WhatIsShownAndWhatIsPredicted) {
  json document = sample_lesson();
  document["parts"][0]["predict"] = true;
  document["parts"][0]["show"] = {{"panel", "state_copies"}, {"request", "A"}, {"column", 1}};
  const Lesson lesson = read_sample(document);
  EXPECT_TRUE(lesson.parts.at(0).predict);
  EXPECT_EQ(lesson.parts.at(0).show,
            (LessonShow{.panel = "state_copies", .request = "A", .column = 1}));
}

TEST(LessonReader, SettingsOfAPartChangeTheScenarios) {
  json document = sample_lesson();
  document["parts"][0]["settings"] = {{"mamba_cache_mode", "none"}};
  const Lesson lesson = read_sample(document);
  const Scenario scenario = scenario_of(lesson, lesson.parts.at(0));
  EXPECT_EQ(scenario.settings.mamba_cache_mode, MambaCacheMode::none);
  EXPECT_EQ(scenario.settings.block_size, 8);
}

TEST(LessonReaderErrors, KeysAndVersion) {
  EXPECT_EQ(error_after([](json& lesson) { lesson["version"] = 2; }),
            "lesson.json: /version: version is 2 (this program reads version 1)");
  EXPECT_EQ(error_after([](json& lesson) { lesson.erase("title"); }),
            "lesson.json: key \"title\" is missing");
  EXPECT_EQ(error_after([](json& lesson) { lesson["titel"] = "x"; }),
            "lesson.json: /titel: unknown key \"titel\", did you mean \"title\"?");
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"] = json::array(); }),
            "lesson.json: /parts: no part (expected at least one)");
}

TEST(LessonReaderErrors, Scenarios) {
  EXPECT_EQ(error_after([](json& lesson) { lesson["scenario"]["settings"]["block_size"] = 0; }),
            "lesson.json: /scenario/settings/block_size: block_size is 0 (allowed: an integer from "
            "1 to 1048576)");
  EXPECT_EQ(error_after([](json& lesson) { lesson["scenario"] = "../absent.json"; }),
            "lesson.json: /scenario: ../absent.json: cannot be opened");
}

TEST(LessonReaderErrors, PathsOfScenarios) {
  EXPECT_EQ(error_after([](json& lesson) { lesson["scenario"] = "a\nb.json"; }),
            "lesson.json: /scenario: a control character in a path (expected printable text)");
  EXPECT_EQ(error_after([](json& lesson) { lesson["scenario"] = ""; }),
            "lesson.json: /scenario: expected an object or a path, found \"\"");
}

TEST(LessonReaderErrors, Parts) {
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["step"] = 0; }),
            "lesson.json: /parts/0/step: expected an integer from 1 to 1000000000, found 0");
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["text"] = "Look."; }),
            "lesson.json: /parts/0/text: expected an array, found \"Look.\"");
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["text"] = json::array(); }),
            "lesson.json: /parts/0/text: no paragraph (expected at least one)");
  EXPECT_EQ(
      error_after([](json& lesson) { lesson["parts"][0]["settings"]["mamba_cache_mode"] = "nil"; }),
      "lesson.json: /parts/0/settings/mamba_cache_mode: mamba_cache_mode is \"nil\" (allowed: "
      "one of none, all, align)");
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["settings"]["block_size"] = 1; }),
            "lesson.json: /parts/0/settings: scenario: "
            "/settings/speculative_config/num_speculative_tokens: num_speculative_tokens is 1, but "
            "1 + 1 tokens do not fit a block of 1 (expected at most 0)");
}

TEST(LessonReaderErrors, WhatIsShown) {
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["show"]["panel"] = "block_table"; }),
            "lesson.json: /parts/0/show/panel: there is no panel \"block_table\", did you mean "
            "\"block_tables\"?");
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["show"]["request"] = "B"; }),
            "lesson.json: /parts/0/show/request: the scenario has no request \"B\"");
  EXPECT_EQ(error_after([](json& lesson) { lesson["parts"][0]["show"]["column"] = -1; }),
            "lesson.json: /parts/0/show/column: expected an integer from 0 to 2147483647, found "
            "-1");
}

TEST(LessonReaderErrors, ExpressionsAreReadAtOnce) {
  EXPECT_EQ(error_with_question([](json& question) { question["value"] = "copy.dstcol"; }),
            "lesson.json: /parts/0/questions/0/value: no field is called copy.dstcol, did you mean "
            "\"dst_col\"?");
  EXPECT_EQ(error_with_question([](json& question) { question["where"] = "copy.request=A"; }),
            "lesson.json: /parts/0/questions/0/where: \"=\" is not an operator, expected \"==\"");
  EXPECT_EQ(error_with_question([](json& question) { question["because"] = "{copy.nope}"; }),
            "lesson.json: /parts/0/questions/0/because: no field is called copy.nope");
  EXPECT_EQ(error_with_question([](json& question) { question.erase("because"); }),
            "lesson.json: /parts/0/questions/0: key \"because\" is missing");
}

TEST(LessonReaderErrors, AnAnswerIsOneThatTheFieldCanHave) {
  EXPECT_EQ(error_with_question([](json& question) { question["answer"] = "0"; }),
            "lesson.json: /parts/0/questions/0/answer: expected a whole number of dst_col, found "
            "\"0\"");
  EXPECT_EQ(error_with_question([](json& question) {
              question["value"] = "copy.copies";
              question["answer"] = 1;
            }),
            "lesson.json: /parts/0/questions/0/answer: expected true or false of copies, found 1");
  EXPECT_EQ(error_with_question([](json& question) {
              question["value"] = "row.row_class";
              question["answer"] = "decoding";
            }),
            "lesson.json: /parts/0/questions/0/answer: expected one of decode, verify, prefill, "
            "padding of row_class, found \"decoding\"");
}

TEST(LessonReaderErrors, TheAnswerIsOneOfTheChoices) {
  EXPECT_EQ(error_with_question([](json& question) {
              question["choices"] = {1, 2};
            }),
            "lesson.json: /parts/0/questions/0/choices: the answer \"0\" is none of the choices");
  EXPECT_EQ(error_with_question([](json& question) { question["choices"] = json::array({0}); }),
            "lesson.json: /parts/0/questions/0/choices: 1 choices (expected two or more)");
}

TEST(LessonReader, MistakesAreWrongAnswersInTheEnginesWords) {
  json document = sample_lesson();
  document["parts"][0]["questions"][0]["mistakes"] = {{"1", "The running column."},
                                                      {"-1", "Below {answer}."}};
  EXPECT_EQ(read_sample(document).parts.at(0).questions.at(0).mistakes,
            (std::vector<LessonMistake>{{.answer = "-1", .words = "Below {answer}."},
                                        {.answer = "1", .words = "The running column."}}));
}

// The error when the sample's question, whose answer is 0, has this mistake.
std::string error_with_mistake(const std::string& answer, const json& words = "Why.") {
  return error_with_question([&](json& question) { question["mistakes"] = {{answer, words}}; });
}

TEST(LessonReaderErrors, AMistakeIsAWrongAnswerThatTheFieldCanHave) {
  const std::string place = "lesson.json: /parts/0/questions/0/mistakes/";
  EXPECT_EQ(error_with_mistake("two"),
            place + "two: expected a whole number of dst_col, found \"two\"");
  EXPECT_EQ(error_with_mistake("0"),
            place + "0: expected a wrong answer, found the right one, \"0\"");
  EXPECT_EQ(error_with_question([](json& question) {
              question["choices"] = {0, 1};
              question["mistakes"] = {{"2", "Why."}};
            }),
            place + "2: expected one of the choices, found \"2\"");
}

// So no answer can have two mistakes: the same key twice is no lesson at all.
TEST(LessonReaderErrors, AMistakeIsWrittenAsTheEngineWritesIt) {
  EXPECT_EQ(error_with_mistake("01"),
            "lesson.json: /parts/0/questions/0/mistakes/01: expected the answer in the engine's "
            "words, \"1\", found \"01\"");
  EXPECT_EQ(error_with_question([](json& question) {
              question["value"] = "copy.copies";
              question["answer"] = true;
              question["mistakes"] = {{"false", "Why."}};
            }),
            "lesson.json: /parts/0/questions/0/mistakes/false: expected the answer in the engine's "
            "words, \"no\", found \"false\"");
}

TEST(LessonReaderErrors, AMistakeIsExplained) {
  const std::string place = "lesson.json: /parts/0/questions/0/mistakes/1: ";
  EXPECT_EQ(error_with_mistake("1", ""), place + "expected text, found \"\"");
  EXPECT_EQ(error_with_mistake("1", 7), place + "expected a string, found 7");
  EXPECT_EQ(error_with_mistake("1", "{copy.nope}"), place + "no field is called copy.nope");
  EXPECT_EQ(error_with_question([](json& question) { question["mistakes"] = json::array(); }),
            "lesson.json: /parts/0/questions/0/mistakes: expected an object, found an array of 0");
}

TEST(LessonReaderErrors, AFileThatIsNotThere) {
  const auto lesson = read_lesson_file("no/such/lesson.json");
  ASSERT_FALSE(lesson.ok());
  EXPECT_EQ(lesson.error().message,
            "no/such/lesson.json: cannot be opened: No such file or directory");
  EXPECT_EQ(lesson.error().kind, ErrorKind::io);
}

TEST(LessonText, NamesInBracesAreTakenApart) {
  const auto pieces = split_placeholders("a = {copy.dst_col}{answer}.");
  ASSERT_EQ(pieces.size(), 4U);
  EXPECT_EQ(pieces[0].text, "a = ");
  EXPECT_EQ(pieces[1].text, "copy.dst_col");
  EXPECT_TRUE(pieces[1].is_name);
  EXPECT_EQ(pieces[2].text, "answer");
  EXPECT_EQ(pieces[3].text, ".");
  EXPECT_FALSE(pieces[3].is_name);
}

const BreakField kNumber = {.name = "dst_col", .type = BreakType::number, .words = {}};
const BreakField kFlag = {.name = "copies", .type = BreakType::flag, .words = {}};
const BreakField kWord = {
    .name = "outcome", .type = BreakType::word, .words = {"copy", "within_block_shift"}};
const BreakField kRequest = {.name = "request", .type = BreakType::request, .words = {}};

TEST(LessonAnswer, NumbersAreComparedByValue) {
  EXPECT_EQ(canonical_answer(kNumber, " 07\t"), "7");
  EXPECT_EQ(canonical_answer(kNumber, "-1"), "-1");
  EXPECT_EQ(canonical_answer(kNumber, "7 tokens"), std::nullopt);
  EXPECT_EQ(canonical_answer(kNumber, "1.0"), std::nullopt);
  EXPECT_EQ(canonical_answer(kNumber, ""), std::nullopt);
  EXPECT_EQ(canonical_answer(kNumber, "99999999999999999999"), std::nullopt);
}

TEST(LessonAnswer, YesAndTrueAreOne) {
  EXPECT_EQ(canonical_answer(kFlag, "Yes"), "yes");
  EXPECT_EQ(canonical_answer(kFlag, "true"), "yes");
  EXPECT_EQ(canonical_answer(kFlag, "n"), "no");
  EXPECT_EQ(canonical_answer(kFlag, "1"), std::nullopt);
}

TEST(LessonAnswer, WordsMayHaveCapitalsHyphensAndBlanks) {
  EXPECT_EQ(canonical_answer(kWord, "Within-block shift"), "within_block_shift");
  EXPECT_EQ(canonical_answer(kWord, "shift"), std::nullopt);
}

TEST(LessonAnswer, RequestsAreCalledAsTheyAre) {
  EXPECT_EQ(canonical_answer(kRequest, " A "), "A");
  EXPECT_EQ(canonical_answer(kRequest, "a"), "a");
  EXPECT_EQ(canonical_answer(kRequest, "  "), std::nullopt);
}

TEST(LessonAnswer, SaysWhatIsExpected) {
  EXPECT_EQ(answer_kind(kNumber), "a whole number");
  EXPECT_EQ(answer_kind(kFlag), "yes or no");
  EXPECT_EQ(answer_kind(kWord), "one of copy, within_block_shift");
  EXPECT_EQ(answer_kind(kRequest), "the name of a request");
}

}  // namespace

}  // namespace hybridscope::test::lesson_reader_test
