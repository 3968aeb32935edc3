// Texts of a language model beside those of lone runs.
#include "gui/model/text_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/live_speech.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::text_model_test {
namespace {

SpokenToken token(std::int64_t step, std::int32_t position, char said, char alone) {
  return {.step = step, .position = position, .id = said, .twin_id = alone, .margin = 2};
}

// The prompt "ab", then "cdX" in steps 1, 2, 3; alone it says "cde".
SpokenText parting_text() {
  return {.request = RequestId{0},
          .prompt = {'a', 'b'},
          .tokens = {token(1, 2, 'c', 'c'), token(2, 3, 'd', 'd'), token(3, 4, 'X', 'e')},
          .rejected = {},
          .alone = {'c', 'd', 'e'}};
}

std::vector<std::string> said(const RequestText& text) {
  std::vector<std::string> words;
  for (const TextColumn& column : text.columns)
    words.push_back((column.is_rejected ? "-" : "") + column.said);
  return words;
}

TEST(TextModel, BothTextsStandBesideEachOtherAndTheFirstDifferenceIsMarked) {
  const RequestText text = told_text(parting_text(), "A", 3, 256);
  EXPECT_EQ(text.prompt, "ab");
  EXPECT_THAT(said(text), testing::ElementsAre("c", "d", "X"));
  EXPECT_EQ(text.columns[2].alone, "e");
  EXPECT_TRUE(text.columns[2].is_first_difference);
  EXPECT_TRUE(text.columns[2].in_step);
  EXPECT_FALSE(text.columns[1].differs);
  EXPECT_EQ(text.parts_in, 3);
  EXPECT_EQ(text.verdict,
            "parts from the lone run at token 3 (step 3): \"X\" for \"e\", margin 2; KL 0 on "
            "average, 0 at most, at token 1");
}

TEST(TextModel, ATextThatDoesNotPartHasNoSecondLine) {
  SpokenText spoken = parting_text();
  spoken.tokens.pop_back();
  spoken.alone.clear();
  const RequestText text = told_text(spoken, "A", 2, 256);
  EXPECT_FALSE(text.parts);
  EXPECT_EQ(text.verdict, "as alone");
  EXPECT_EQ(text.columns[0].alone, "");
}

// Drafts "q" and "r" at positions 3 and 4 were rejected in step 2, where "d" came instead.
TEST(TextModel, RejectedDraftsOfTheShownStepStandInFrontOfWhatCameInstead) {
  SpokenText spoken = parting_text();
  spoken.rejected = {{2, 3, 'q'}, {2, 4, 'r'}};
  EXPECT_THAT(said(told_text(spoken, "A", 2, 256)),
              testing::ElementsAre("c", "-q", "-r", "d", "X"));
  EXPECT_THAT(said(told_text(spoken, "A", 3, 256)), testing::ElementsAre("c", "d", "X"));
}

TEST(TextModel, SaysWhyThereIsNoText) {
  const auto run = test::scenario_at("plain_decode", 2);
  EXPECT_EQ(make_text_model(*run, {}, {}).empty,
            "This run is shown without a language model: run.weights gives it one.");
}

// A model of 50 tokens on the decisions of a shipped scenario.
TEST(TextModel, HasTheTextUpToTheShownStepAndTheProbabilitiesOfItsLastToken) {
  const auto run = test::scenario_at("plain_decode", 3);
  run->speak_with(std::make_shared<const LanguageModel>(
      LanguageModel{"tiny/", NumericForm::recurrent,
                    std::make_shared<const HybridModel>(test::small_language_model())}));
  while (run->awaits_more()) (void)run->load_more();
  const TextModel model = make_text_model(*run, {}, {});
  EXPECT_EQ(model.model, "Language model tiny, form recurrent");
  ASSERT_EQ(model.requests.size(), 1U);
  EXPECT_EQ(model.requests[0].columns.size(), 3U);
  EXPECT_EQ(model.requests[0].verdict, "as alone");
  EXPECT_TRUE(model.spaced);
  EXPECT_EQ(model.chances.token, 3);
  ASSERT_EQ(model.chances.rows.size(), 5U);
  EXPECT_EQ(model.chances.rows[0].said, "\"" + model.requests[0].columns[2].said + "\"");
  EXPECT_EQ(model.chances.rows[0].alone, model.chances.rows[0].said);
  EXPECT_EQ(make_text_model(*run, {}, {.token = 1}).chances.token, 1);
  (void)run->back();
  EXPECT_EQ(make_text_model(*run, {}, {}).requests[0].columns.size(), 2U);
}

TEST(TextModel, SmallProbabilitiesAreNotZero) {
  EXPECT_EQ(probability_words(0.93F), "0.93");
  EXPECT_EQ(probability_words(0.00002F), "<0.0001");
}

}  // namespace
}  // namespace hybridscope::text_model_test
