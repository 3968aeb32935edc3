// Texts put together out of what each step said.
#include "core/language/spoken_texts.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/small_language_model.h"

namespace hybridscope::spoken_texts_test {
namespace {

constexpr RequestId kA{0};

StepWords::Token said(std::int64_t step, std::int32_t position, std::int32_t id,
                      std::int32_t twin_id) {
  return {kA, {.step = step, .position = position, .id = id, .twin_id = twin_id}};
}

TEST(SpokenTexts, AreWhatTheSchedulerTookOfWhatRowsSampled) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5, 6}}}, .tokens = {said(0, 2, 7, 7)}, .taken = {{kA, 1}}});
  texts.add({.tokens = {said(1, 3, 8, 8), said(1, 4, 9, 9)},
             .rejected = {{kA, {1, 5, 3}}},
             .taken = {{kA, 1}}});
  const SpokenText taken = texts.taken().at(0);
  EXPECT_EQ(taken.prompt, (std::vector<std::int32_t>{5, 6}));
  ASSERT_EQ(taken.tokens.size(), 2U);
  EXPECT_EQ(taken.tokens[1].id, 8);
  EXPECT_EQ(taken.rejected, (std::vector<RejectedDraft>{{1, 5, 3}}));
  EXPECT_EQ(texts.sampled().at(0).tokens.size(), 3U);
}

TEST(SpokenTexts, OfARequestThatBeginsAgainHaveItsLastTokens) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5}}}, .tokens = {said(0, 1, 7, 7)}});
  texts.add({.tokens = {said(1, 2, 8, 8)}});
  texts.add({.tokens = {said(2, 1, 9, 9)}});
  const SpokenText text = texts.sampled().at(0);
  ASSERT_EQ(text.tokens.size(), 1U);
  EXPECT_EQ(text.tokens[0].id, 9);
}

TEST(SpokenTexts, PartFromTheLoneRunWhereATokenIsNotItsChoice) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5}}}, .tokens = {said(0, 1, 7, 7)}});
  EXPECT_FALSE(parts_from_lone_run(texts.sampled()[0]));
  texts.add({.tokens = {said(1, 2, 8, 9)}});
  EXPECT_TRUE(parts_from_lone_run(texts.sampled()[0]));
}

// What the lone run says by itself is as long as what the run says.
TEST(SpokenTexts, HaveWhatTheLoneRunSaysFromTheStepInWhichTheyPart) {
  SpokenTexts texts;
  texts.add({.prompts = {{kA, {5}}}, .tokens = {said(0, 1, 7, 7)}});
  EXPECT_TRUE(texts.sampled()[0].alone.empty());
  texts.add({.tokens = {said(1, 2, 8, 9)}, .taken = {{kA, 1}}, .alone = {{kA, {7, 9}}}});
  EXPECT_EQ(texts.sampled()[0].alone, (std::vector<std::int32_t>{7, 9}));
  EXPECT_TRUE(texts.taken()[0].alone.empty());  // the token that differs was not taken
}

// The lone run says as many tokens as the run has, from the step in which they part.
TEST(AloneTexts, AreAsLongAsTheRunsText) {
  const HybridModel model = test::small_language_model();
  const std::vector<std::int32_t> prompt{5, 6, 7};
  EXPECT_EQ(say_alone(model, prompt, 3), (std::vector<std::int32_t>{3, 13, 21}));
  AloneTexts texts(model);
  StepWords words{.prompts = {{kA, prompt}}, .tokens = {said(0, 3, 3, 3)}};
  texts.add_to(words);
  EXPECT_TRUE(words.alone.empty());
  words = {.tokens = {said(1, 4, 14, 13)}};
  texts.add_to(words);
  ASSERT_EQ(words.alone.size(), 1U);
  EXPECT_EQ(words.alone[0].ids, (std::vector<std::int32_t>{3, 13}));
  words = {.tokens = {said(2, 5, 1, 1)}};
  texts.add_to(words);
  EXPECT_EQ(words.alone.at(0).ids, (std::vector<std::int32_t>{21}));
}

}  // namespace
}  // namespace hybridscope::spoken_texts_test
