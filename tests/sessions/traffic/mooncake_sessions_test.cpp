#include "sessions/traffic/mooncake_sessions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/traffic/log_words.h"

namespace hybridscope::mooncake_sessions_test {
namespace {

using test::input_of;
using test::words_of;
using testing::ElementsAre;
using testing::HasSubstr;

Result<TrafficLog> read(const std::string& text) {
  return read_mooncake_sessions(input_of(text, "a.jsonl"));
}

// As AIPerf writes them: a later turn says what it adds.
TEST(MooncakeSessions, WithoutIdsATurnAddsItsTokensToTheHistory) {
  EXPECT_THAT(words_of(read(R"({"session_id": "abc", "input_length": 300, "output_length": 40}
{"input_length": 9, "output_length": 1, "timestamp": 12.5}

{"session_id": "abc", "delay": 2, "input_length": 150, "output_length": 20}
)")),
              ElementsAre("r1 in 0: 300 -> 40", "r2 @12500 in 1: 9 -> 1",
                          "r4 in 0: 300 r1[300+40] 150 -> 20 after r1 +2000"));
}

// Blocks of 4 tokens. The second turn goes on behind the answer, which ends in its third block.
TEST(MooncakeSessions, WithIdsARowIsAWholePromptAndTheAnswerBeforeItIsWhatWasGenerated) {
  const auto log = read(
      R"({"session_id": 7, "timestamp": 5, "input_length": 6, "output_length": 3, "hash_ids": [1, 2]}
{"session_id": 7, "timestamp": 9, "input_length": 14, "output_length": 1, "hash_ids": [1, 3, 4, 5]}
{"session_id": 8, "timestamp": 9, "input_length": 12, "output_length": 1, "hash_ids": [1, 3, 4]}
)");
  EXPECT_THAT(words_of(log), ElementsAre("r1 @5000 in 0: 4 2 -> 3",
                                         "r2 @9000 in 0: 4 2 r1[6+2] r1[8+1] 3 2 -> 1 after r1",
                                         "r3 @9000 in 2: 4 2 r1[6+2] r1[8+1] 3 -> 1"));
  EXPECT_THAT(log.value().notes, ElementsAre("a hash id is taken for 4 tokens"));
}

TEST(MooncakeSessions, APromptThatDoesNotGoOnFromTheTurnBeforeHasItsOwnBlocks) {
  // Another first block, and a prompt that is too short for the answer.
  EXPECT_THAT(words_of(read(
                  R"({"session_id": "s", "input_length": 6, "output_length": 3, "hash_ids": [1, 2]}
{"session_id": "s", "input_length": 14, "output_length": 1, "hash_ids": [9, 3, 4, 5]}
{"session_id": "s", "input_length": 14, "output_length": 7, "hash_ids": [9, 3, 4, 6]}
{"session_id": "s", "input_length": 20, "output_length": 1, "hash_ids": [9, 3, 4, 7, 8]}
)")),
              ElementsAre("r1 in 0: 4 2 -> 3", "r2 in 0: 4 4 4 2 -> 1 after r1",
                          "r3 in 0: 4 4 4 2 -> 7 after r2", "r4 in 0: 4 4 4 4 4 -> 1 after r3"));
}

// As Dynamo writes agent runs.
TEST(MooncakeSessions, ARowWaitsForTheRequestsItNamesAndForItsTools) {
  EXPECT_THAT(
      words_of(read(
          R"({"request_id": "a", "session_id": "main", "timestamp": 3, "input_length": 4, "output_length": 2, "hash_ids": [1]}
{"request_id": "b", "session_id": "helper", "timestamp": 9, "input_length": 4, "output_length": 2, "hash_ids": [2], "wait_for": ["a"], "branches": []}
{"request_id": "c", "session_id": "main", "timestamp": 30, "input_length": 4, "output_length": 2, "hash_ids": [3], "wait_for": ["a", "b"], "delay": 1.5, "tool_wait_ms": 20, "tool_events": [{}]}
)")),
      ElementsAre("r1 @3000 in 0: 4 -> 2", "r2 in 0: 4 -> 2 after r1",
                  "r3 in 0: 4 -> 2 after r1 after r2 +21500"));
}

TEST(MooncakeSessions, IdsMayBeNumbers) {
  EXPECT_THAT(words_of(read(R"({"request_id": 1, "input_length": 4, "output_length": 2}
{"request_id": 2, "input_length": 4, "output_length": 2, "wait_for": [1]}
)")),
              ElementsAre("r1 in 0: 4 -> 2", "r2 in 0: 4 -> 2 after r1"));
}

TEST(MooncakeSessions, TheSizeOfABlockFollowsFromTheNumbersOfIds) {
  BlockSizes sizes;
  EXPECT_EQ(sizes.size(), 512);
  EXPECT_TRUE(sizes.take(6755, 14));
  EXPECT_EQ(sizes.size(), 512);
  EXPECT_FALSE(sizes.take(100, 20));
  BlockSizes small;
  EXPECT_TRUE(small.take(1000, 16));
  EXPECT_EQ(small.least(), 63);
  EXPECT_EQ(small.most(), 66);
  EXPECT_EQ(small.size(), 64);
  BlockSizes odd;
  EXPECT_TRUE(odd.take(100, 2));
  EXPECT_TRUE(odd.take(150, 3));
  EXPECT_EQ(odd.size(), 64);
  EXPECT_TRUE(odd.take(710, 10));
  EXPECT_EQ(odd.size(), 71);
}

TEST(MooncakeSessions, ErrorsNameTheLine) {
  const auto error = [](const std::string& text) { return read(text).error().message; };
  const std::string first =
      R"({"request_id": "a", "input_length": 1000, "output_length": 4, "hash_ids": [1, 2]})"
      "\n";
  EXPECT_EQ(
      error(first + R"({"input_length": 9, "output_length": 4, "hash_ids": [1, 2]})"),
      "a.jsonl:2: /hash_ids: 2 ids for 9 tokens (expected blocks of 500 to 999 tokens, as the "
      "lines before have)");
  EXPECT_EQ(error(first + R"({"input_length": 9, "output_length": 4, "wait_for": ["b"]})"),
            "a.jsonl:2: /wait_for: no line before this one has the request_id \"b\"");
  EXPECT_EQ(error(first + first), "a.jsonl:2: /request_id: \"a\" is there twice");
  EXPECT_EQ(error(R"({"input_length": 9})"), "a.jsonl:1: key \"output_length\" is missing");
  EXPECT_EQ(error(R"({"input_tokens": 0, "output_tokens": 3})"),
            "a.jsonl:1: /input_tokens: expected an integer from 1 to 16777216, found 0");
  EXPECT_EQ(error(R"({"input_length": 9, "output_length": 3, "delay": -1})"),
            "a.jsonl:1: /delay: expected milliseconds from 0 to 4503599627370, found -1");
  EXPECT_THAT(error(R"({"session_id": "s", "text_input": "Hello", "output_length": 3})"),
              HasSubstr("a.jsonl:1: /text_input: rows of this kind are not read"));
  EXPECT_THAT(error("{\"input_length\": 9,\n}"), HasSubstr("a.jsonl:1:20: syntax error"));
  EXPECT_EQ(error("[]"), "a.jsonl:1: expected an object, found an array of 0");
  EXPECT_EQ(error(""), "a.jsonl: no request (expected one JSON object a line)");
}

}  // namespace
}  // namespace hybridscope::mooncake_sessions_test
