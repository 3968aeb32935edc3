// A language model's texts in words.
// One step of a language model in words.
// Texts of two runs.
#include "sessions/run/spoken_words.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string_view>
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

constexpr RequestId kA{0};
const SpeechInfo kInfo{.weights = "tiny", .vocab_size = 256, .layers = {}};

StepSpeech step() {
  return {.step = 3,
          .words = {.tokens = {{kA, {.step = 3, .id = 'k', .twin_id = 'k'}},
                               {kA, {.step = 3, .id = '?', .twin_id = '='}}},
                    .rejected = {{kA, {3, 4, 'x'}}}},
          .compared = {{kA, 1, 4, StateKind::temporal, true}}};
}

TEST(SpeechWords, SayWhatEachRequestSaysAndRejects) {
  EXPECT_EQ(explain_speech(step(), kInfo, numbered_names()),
            "\nLanguage model tiny, form recurrent\n"
            "  r0 says \"k?\", a lone run there \"k=\"; rejected drafts \"x\"\n"
            "  1 state compared with lone runs: all equal in every bit\n");
  EXPECT_EQ(explain_speech({}, kInfo, numbered_names()), "");
}

TEST(SpeechWords, NameTheStatesThatDiffer) {
  StepSpeech wrong = step();
  wrong.words = {};
  for (int i = 0; i < 13; ++i)
    wrong.states.push_back({.request = kA,
                            .layer = i,
                            .is_read = true,
                            .block = 4,
                            .num_tokens = 23,
                            .num_elements = 4096,
                            .largest = 0.0661});
  const std::string words = explain_speech(wrong, kInfo, numbered_names());
  EXPECT_NE(words.find("block 4, layer 0: the temporal state that a row of r0 read differs from"),
            std::string::npos);
  EXPECT_NE(words.find("by at most 0.0661, in 4,096"), std::string::npos) << words;
  EXPECT_NE(words.find("... and 1 more"), std::string::npos);
}

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

}  // namespace hybridscope::spoken_words_test
