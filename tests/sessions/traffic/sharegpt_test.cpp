#include "sessions/traffic/sharegpt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/traffic/conversation_history.h"
#include "tests/sessions/traffic/log_words.h"

namespace hybridscope::sharegpt_test {
namespace {

using test::input_of;
using test::words_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string message(const std::string& from, std::size_t bytes, char letter = 'a') {
  return R"({"from": ")" + from + R"(", "value": ")" + std::string(bytes, letter) + "\"}";
}

std::string conversation(const std::vector<std::string>& messages) {
  std::string text = R"({"id": "x", "conversations": [)";
  for (const std::string& one : messages) text += (text.back() == '[' ? "" : ",\n ") + one;
  return text + "]}";
}

Result<TrafficLog> read(const std::string& text) { return read_sharegpt(input_of(text, "s.json")); }

// Of 64 tokens, and the rest.
TEST(ShareGpt, ATurnAsksWithTheWholeHistoryInWhichAnswersAreWhatWasGenerated) {
  EXPECT_THAT(
      words_of(read("[" +
                    conversation({message("system", 12), message("human", 257), message("gpt", 41),
                                  message("human", 4), message("gpt", 5)}) +
                    "]")),
      ElementsAre("c1.t1 in 0: 3 64 1 -> 11",
                  "c1.t2 in 0: 3 64 1 c1.t1[68+11] 1 -> 2 after c1.t1"));
}

TEST(ShareGpt, EqualTextsAreSharedPieceByPiece) {
  const std::string same(256, 'a');
  const auto log = read("[" + conversation({message("human", 300), message("gpt", 4)}) + "," +
                        conversation({message("human", 299), message("gpt", 4)}) + "," +
                        conversation({message("human", 300, 'b'), message("gpt", 4)}) + "]");
  ASSERT_TRUE(log.ok()) << log.error().message;
  const auto prompt = [&](std::size_t i) { return log.value().requests[i].request.prompt; };
  EXPECT_EQ(prompt(0)[0], prompt(1)[0]);
  EXPECT_EQ(prompt(0)[0].length, 64);
  EXPECT_NE(prompt(0)[1].content, prompt(1)[1].content);
  EXPECT_NE(prompt(0)[0].content, prompt(2)[0].content);
}

TEST(ShareGpt, RolesAndContentsAndLinesWithoutAnArrayAreReadToo) {
  EXPECT_THAT(words_of(read(R"({"messages": [{"role": "user", "content": "abcd"},)"
                            R"( {"role": "assistant", "content": null}]})"
                            "\n"
                            R"({"conversations": [{"from": "user", "value": "abcdefgh"},)"
                            R"( {"from": "chatgpt", "value": "x"}]})")),
              ElementsAre("c1.t1 in 0: 1 -> 1", "c2.t1 in 1: 2 -> 1"));
}

TEST(ShareGpt, AnAnswerThatNobodyAskedForIsHistoryAndAQuestionWithoutAnAnswerNoTurn) {
  const auto log = read("[" +
                        conversation({message("gpt", 40), message("human", 4), message("gpt", 8),
                                      message("human", 4)}) +
                        ",\n" + conversation({message("human", 4)}) + "]");
  EXPECT_THAT(words_of(log), ElementsAre("c1.t1 in 0: 10 1 -> 2"));
  EXPECT_THAT(log.value().notes,
              ElementsAre("left out because no user is answered: 1 of 2 conversations",
                          "tokens are counted as bytes of text by 4, rounded up"));
}

TEST(ShareGpt, ErrorsNameTheLineInWhichTheConversationBegins) {
  const auto error = [](const std::string& text) { return read(text).error().message; };
  const std::string good = conversation({message("human", 4), message("gpt", 4)});
  EXPECT_EQ(error("[\n" + good + ",\n{\"id\": 3}]"),
            "s.json:4: found an object (expected an object with \"conversations\")");
  EXPECT_EQ(error("[\n" + good + ",\n\n{\"conversations\": [{\"from\": \"human\"}]}]"),
            "s.json:5: /conversations/0: expected \"from\" and \"value\" (or \"role\" and "
            "\"content\")");
  EXPECT_EQ(error("[{\"conversations\": [5]}]"),
            "s.json:1: /conversations/0: expected an object, found 5");
  EXPECT_EQ(error("[{\"conversations\": \"x\"}]"),
            "s.json:1: /conversations: expected an array, found \"x\"");
  EXPECT_EQ(error("[" + good), "s.json:2: found the end of the file (expected \",\" or \"]\")");
  EXPECT_EQ(error("[\n]"), "s.json:1: no conversation in which a user is answered");
  EXPECT_EQ(error("5"), "s.json:1: found \"5\" (expected an array)");
  EXPECT_THAT(error("[{\"conversations\":\n oops}]"), HasSubstr("s.json:2:2: syntax error"));
}

TEST(ConversationHistory, ALogHasALimitOfTokensAPromptAndOfPiecesInAll) {
  TrafficLog log;
  const auto request = [](std::int32_t length) {
    return LoggedRequest{
        .request = {.name = "r",
                    .prompt = {{.content = 1, .length = length}, {.content = 2, .length = 1}}}};
  };
  EXPECT_EQ(add_logged(log, request(16777216)).error().message,
            "a prompt of 16777217 tokens (expected at most 16777216)");
  EXPECT_TRUE(add_logged(log, request(16777215)).ok());
  EXPECT_EQ(log.num_pieces, 2);
  log.num_pieces = 99'999'999;
  EXPECT_THAT(
      add_logged(log, request(5)).error().message,
      HasSubstr("up to here the prompts have 100000001 pieces (expected at most 100000000"));
  EXPECT_EQ(log.requests.size(), 1U);
}

TEST(ConversationHistory, APromptWithoutTokensGetsOne) {
  TrafficLog log;
  ConversationHistory history(0);
  ASSERT_TRUE(history.ask(log, {.name = "a", .max_tokens = 3}).ok());
  ASSERT_TRUE(history.ask(log, {.name = "b", .max_tokens = 2, .delay_us = 7}).ok());
  EXPECT_THAT(words_of(log), ElementsAre("a in 0: 1 -> 3", "b in 0: 1 a[1+3] -> 2 after a +7"));
}

TEST(ConversationHistory, PartsOfAPromptAreCutOutOfItsSegments) {
  const std::vector<PromptSegment> prompt = {{.content = 1, .first = 5, .length = 10},
                                             {.content = 2, .length = 4}};
  EXPECT_THAT(part_of_prompt(prompt, 8, 12),
              ElementsAre(PromptSegment{.content = 1, .first = 13, .length = 2},
                          PromptSegment{.content = 2, .first = 0, .length = 2}));
  EXPECT_THAT(part_of_prompt(prompt, 14, 20), ElementsAre());
}

}  // namespace
}  // namespace hybridscope::sharegpt_test
