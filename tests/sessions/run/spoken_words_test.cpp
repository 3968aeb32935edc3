// A language model's texts in words.
#include "sessions/run/spoken_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace hybridscope::spoken_words_test {
namespace {

SpokenText two_tokens(std::int32_t first, std::int32_t second) {
  SpokenText text{.request = RequestId{0}, .prompt = {'k', '='}, .tokens = {}, .alone = {}};
  text.tokens.push_back({.step = 3, .position = 2, .id = first, .twin_id = '7'});
  text.tokens.push_back({.step = 4, .position = 3, .id = second, .twin_id = '.'});
  return text;
}

SpokenWords words_of(SpokenText text) {
  return spoken_words({std::move(text)}, 256, numbered_names());
}

TEST(SpokenWords, BytesAreShownAsTextAndOthersEscaped) {
  EXPECT_EQ(tokens_as_text(std::vector<std::int32_t>{'a', '\n', '"', 0xF3}, 256), R"(a\n\"\xf3)");
}

TEST(SpokenWords, TokensOfAnotherVocabularyAreNumbers) {
  EXPECT_EQ(tokens_as_text(std::vector<std::int32_t>{12, 7, 40}, 64), "12 7 40");
}

TEST(SpokenWords, ATextThatIsAsAloneIsOneLine) {
  EXPECT_EQ(format_spoken(words_of(two_tokens('7', '.'))), "r0: \"k=\" -> \"7.\", as alone\n");
}

TEST(SpokenWords, TextsThatPartAreShownOneBelowTheOther) {
  SpokenText text = two_tokens('7', '3');
  text.alone = {'7', '.'};
  text.tokens[1].divergence = 2;
  text.tokens[1].margin = 2;
  EXPECT_EQ(format_spoken(words_of(text)),
            "r0: \"k=\" -> \"73\"\n"
            "  alone: \"7.\"\n"
            "  parts from the lone run at token 2 (step 4): \"3\" for \".\", margin 2; KL 1 on "
            "average, 2 "
            "at most, at token 2\n");
}

TEST(SpokenWords, ATextWithTokensOfAPromptSaysSo) {
  SpokenText text = two_tokens('7', '3');
  text.is_forced = true;
  EXPECT_EQ(format_spoken(words_of(text)),
            "r0: \"k=\" -> \"73\", some tokens were given by a prompt that came before them\n");
}

TEST(SpokenWords, JsonHasBothTextsAndTheirFirstDifference) {
  SpokenText text = two_tokens('7', '3');
  text.alone = {'7', '.'};
  const auto json = spoken_to_json(words_of(text));
  EXPECT_EQ(json[0]["text"], "73");
  EXPECT_EQ(json[0]["alone"], "7.");
  EXPECT_EQ(json[0]["first_difference"], 1);
  EXPECT_EQ(spoken_to_json(words_of(two_tokens('7', '.')))[0]["first_difference"], nullptr);
}

}  // namespace
}  // namespace hybridscope::spoken_words_test
