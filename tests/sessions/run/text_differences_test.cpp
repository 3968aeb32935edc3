// Texts of two runs.
#include "sessions/run/spoken_words.h"

#include <gtest/gtest.h>

#include <string_view>

namespace hybridscope::text_differences_test {
namespace {

// Byte i is said in step i + 1.
SpokenText said(std::string_view words) {
  SpokenText text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.tokens.push_back({.step = static_cast<std::int64_t>(i + 1), .id = words[i]});
  return text;
}

SpokenWords words(std::vector<std::string> names, std::vector<SpokenText> texts) {
  return {.vocab_size = 256, .requests = std::move(names), .texts = std::move(texts)};
}

TEST(TextDifferences, AreTheFirstTokenThatDiffersOfEachRequest) {
  const auto differing = differing_texts(words({"A", "B"}, {said("7.3"), said("same")}),
                                         words({"B", "A"}, {said("same"), said("7.9.")}));
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(differing[0].request, "A");
  EXPECT_EQ(differing[0].first, 2U);
  EXPECT_EQ(differing[0].a, "7.3");
  EXPECT_EQ(differing[0].token_begins, 2U);
  EXPECT_EQ(text_difference_words(differing[0]),
            "A: the texts part at token 3 (step 3 of A, step 3 of B): \"3\" and \"9\"");
}

TEST(TextDifferences, ATextThatEndsEarlierIsAnotherOne) {
  const auto differing = differing_texts(words({"A"}, {said("7.")}), words({"A"}, {said("7.3")}));
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(text_difference_words(differing[0]),
            "A: the texts part at token 3 (A has ended, step 3 of B): nothing and \"3\"");
}

// Ids are separated by spaces; the third begins behind "55 1 ".
TEST(TextDifferences, ATokenBeginsBehindTheWordsOfThoseBeforeIt) {
  const auto ids = [](std::vector<std::int32_t> tokens) {
    SpokenText text;
    for (const std::int32_t id : tokens) text.tokens.push_back({.step = 1, .id = id});
    return SpokenWords{.vocab_size = 64, .requests = {"A"}, .texts = {text}};
  };
  const auto differing = differing_texts(ids({55, 1, 7}), ids({55, 1, 10, 3}));
  ASSERT_EQ(differing.size(), 1U);
  EXPECT_EQ(differing[0].token_begins, 5U);
  EXPECT_EQ(differing[0].b.substr(5, differing[0].token_b.size()), "10");
  EXPECT_EQ(differing_texts(ids({7}), ids({10})).at(0).token_begins, 0U);
}

TEST(TextDifferences, RequestsOfOneRunAreLeftOut) {
  EXPECT_TRUE(differing_texts(words({"A"}, {said("7")}), words({"B"}, {said("8")})).empty());
}

}  // namespace
}  // namespace hybridscope::text_differences_test
