#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <unordered_set>

#include "sessions/text/name_hash.h"
#include "sessions/text/output_file.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic_formats.h"
#include "tests/sessions/traffic/log_words.h"
#include "tests/support/read_traffic.h"

namespace hybridscope::mooncake_test {
namespace {

using testing::ElementsAre;
using Source = PromptSegment::Source;

Result<Traffic> read(const std::string& text) {
  std::istringstream lines(text);
  return test::read_traffic(lines);
}

Result<Traffic> load_file(const std::string& path) { return load_traffic(path, {}); }

std::string error_of(const std::string& text) {
  const auto traffic = read(text);
  return traffic.ok() ? "" : traffic.error().message;
}

const std::string kFirst =
    R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [0, 7]})"
    "\n";

TEST(Mooncake, EachHashIdCovers512TokensAndTheLastTheRest) {
  const auto traffic = read(kFirst);
  ASSERT_TRUE(traffic.ok()) << traffic.error().message;
  ASSERT_EQ(traffic.value().requests.size(), 1U);
  const AddRequest& request = traffic.value().requests[0].request;
  EXPECT_THAT(request.prompt, ElementsAre(PromptSegment{Source::text, 0, 0, 512},
                                          PromptSegment{Source::text, 7, 0, 88}));
  EXPECT_EQ(request.max_tokens, 5);
  EXPECT_EQ(request.name, "r1");
  EXPECT_EQ(request.key, request_key("r1"));
}

TEST(Mooncake, AFullLastBlockHas512Tokens) {
  const auto traffic =
      read(R"({"timestamp":1,"input_length":1024,"output_length":1,"hash_ids":[3,4]})");
  EXPECT_EQ(traffic.value().requests[0].request.prompt[1].length, 512);
  EXPECT_EQ(traffic.value().requests[0].arrival_us, 1000);
  EXPECT_EQ(traffic.value().num_prompt_tokens, 1024);
}

TEST(Mooncake, LinesOutOfOrderAreSortedStablyAndCounted) {
  const auto traffic = read(R"({"timestamp":9,"input_length":1,"output_length":1,"hash_ids":[0]}
{"timestamp":3,"input_length":2,"output_length":1,"hash_ids":[0]}
{"timestamp":9,"input_length":3,"output_length":1,"hash_ids":[0]}
{"timestamp":3,"input_length":4,"output_length":1,"hash_ids":[0]}
)");
  std::vector<std::string> names;
  for (const ArrivingRequest& arriving : traffic.value().requests)
    names.push_back(arriving.request.name);
  EXPECT_THAT(names, ElementsAre("r2", "r4", "r1", "r3"));
  EXPECT_EQ(traffic.value().num_out_of_order, 2);
}

TEST(Mooncake, NoOutputCountsAsOneToken) {
  const auto traffic = read(R"({"timestamp":0,"input_length":1,"output_length":0,"hash_ids":[0]})");
  EXPECT_EQ(traffic.value().requests[0].request.max_tokens, 1);
  EXPECT_EQ(traffic.value().num_without_output, 1);
}

TEST(Mooncake, CarriageReturnsAreSpace) {
  EXPECT_EQ(read("{\"timestamp\":0,\"input_length\":1,\"output_length\":1,\"hash_ids\":[0]}\r\n")
                .value()
                .requests.size(),
            1U);
}

TEST(Mooncake, AWrongNumberOfIdsIsAnError) {
  EXPECT_EQ(
      error_of(kFirst + R"({"timestamp":0,"input_length":512,"output_length":1,"hash_ids":[1,2]})"),
      "t.jsonl:2: /hash_ids: 2 ids for 512 tokens (expected 1, one per 512 tokens)");
  EXPECT_EQ(error_of(R"({"timestamp":0,"input_length":513,"output_length":1,"hash_ids":[1]})"),
            "t.jsonl:1: /hash_ids: 1 ids for 513 tokens (expected 2, one per 512 tokens)");
}

TEST(Mooncake, NumbersOutOfRangeAreErrors) {
  EXPECT_EQ(error_of(R"({"timestamp":-1,"input_length":1,"output_length":1,"hash_ids":[1]})"),
            "t.jsonl:1: /timestamp: expected an integer from 0 to 4503599627370, found -1");
  EXPECT_EQ(error_of(R"({"timestamp":0,"input_length":0,"output_length":1,"hash_ids":[]})"),
            "t.jsonl:1: /input_length: expected an integer from 1 to 16777216, found 0");
  EXPECT_EQ(
      error_of(R"({"timestamp":0,"input_length":4294967297,"output_length":1,"hash_ids":[1]})"),
      "t.jsonl:1: /input_length: expected an integer from 1 to 16777216, found 4294967297");
  EXPECT_EQ(error_of(R"({"timestamp":0,"input_length":1,"output_length":-5,"hash_ids":[1]})"),
            "t.jsonl:1: /output_length: expected an integer from 0 to 16777216, found -5");
  EXPECT_EQ(error_of(R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[-1]})"),
            "t.jsonl:1: /hash_ids/0: expected an integer from 0 to 9223372036854775807, found -1");
  EXPECT_EQ(error_of(R"({"timestamp":0.5,"input_length":1,"output_length":1,"hash_ids":[1]})"),
            "t.jsonl:1: /timestamp: expected an integer from 0 to 4503599627370, found 0.5");
}

TEST(Mooncake, KeysMustBeTheFourKnownOnes) {
  EXPECT_EQ(error_of(R"({"timestamp":0,"input_length":1,"hash_ids":[1]})"),
            "t.jsonl:1: key \"output_length\" is missing");
  EXPECT_EQ(
      error_of(R"({"timestamp":0,"input_length":1,"output_lenght":1,"hash_ids":[1]})"),
      "t.jsonl:1: /output_lenght: unknown key \"output_lenght\", did you mean \"output_length\"?");
  EXPECT_EQ(error_of(R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":1})"),
            "t.jsonl:1: /hash_ids: expected an array, found 1");
  EXPECT_EQ(error_of("[]"), "t.jsonl:1: expected an object, found an array of 0");
}

TEST(Mooncake, AKeyTwiceNamesItsLine) {
  EXPECT_EQ(error_of(kFirst + R"({"timestamp":0,"timestamp":1})"),
            "t.jsonl:2: key \"timestamp\" occurs twice");
}

TEST(Mooncake, HashIdsMayBeWholeFloats) {
  std::istringstream lines(
      R"({"timestamp":0,"input_length":1,"output_length":1,"hash_ids":[7.0]})");
  EXPECT_EQ(test::read_traffic(lines).value().requests[0].request.prompt[0].content, 7);
}

TEST(Mooncake, ATruncatedLineIsAnErrorAtItsEnd) {
  EXPECT_EQ(error_of(kFirst + R"({"timestamp": 0, "input_len)").substr(0, 13), "t.jsonl:2:28:");
}

TEST(Mooncake, EmptyLinesAndFilesAreErrors) {
  EXPECT_EQ(error_of(kFirst + "\n" + kFirst),
            "t.jsonl:2: empty line (expected one JSON object a line)");
  EXPECT_EQ(error_of(""), "t.jsonl: no request (expected one JSON object a line)");
}

TEST(Mooncake, BytesThatAreNoUtf8NameTheirLine) {
  EXPECT_EQ(error_of(kFirst + "{\"\xFF"),
            "t.jsonl:2:3: byte 0xFF is no UTF-8 (expected JSON in UTF-8)");
}

TEST(Mooncake, LinesHaveALimit) {
  EXPECT_EQ(error_of(std::string((std::size_t{4} << 20) + 1, ' ')),
            "t.jsonl:1: a line of more than 4194304 bytes");
}

TEST(Mooncake, AFileThatIsNotThereIsAnIoError) {
  EXPECT_EQ(load_file("/nowhere/t.jsonl").error().kind, ErrorKind::io);
  EXPECT_EQ(load_file("/").error().kind, ErrorKind::io);
}

TEST(Mooncake, AZstdFileIsReadAsWhatIsInIt) {
  const std::string path = testing::TempDir() + "traffic_" + std::to_string(::getpid()) + ".zst";
  OutputFile file = std::move(OutputFile::create(path)).value();
  ASSERT_TRUE(file.write(kFirst + kFirst).ok());
  ASSERT_TRUE(file.finish().ok());
  EXPECT_EQ(load_file(path).value().requests.size(), 2U);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const Error error = load_file(path).error();
  EXPECT_EQ(error.kind, ErrorKind::corrupt);
  EXPECT_EQ(error.message, path +
                               ":3: the zstd stream is cut off in the middle of a frame "
                               "(expected a whole file, as zstd wrote it)");
  std::filesystem::remove(path);
}

// The first 1,000 requests of it, tests/data/README.md.
TEST(Mooncake, TheMooncakeConversationTraceIsReadWhole) {
  const auto read =
      load_file(HYBRIDSCOPE_SOURCE_DIR "/tests/data/mooncake_conversation_1000.jsonl.zst");
  ASSERT_TRUE(read.ok()) << read.error().message;
  const Traffic& traffic = read.value();
  EXPECT_EQ(traffic.requests.size(), 1000U);
  EXPECT_EQ(traffic.num_prompt_tokens, 13732944);
  EXPECT_EQ(traffic.num_output_tokens, 349357);
  EXPECT_EQ(traffic.num_out_of_order, 0);
  EXPECT_EQ(traffic.num_without_output, 0);
  EXPECT_EQ(traffic.requests.back().arrival_us, 330000000);

  std::vector<std::int64_t> lengths;
  std::unordered_set<std::uint64_t> seen;
  std::int64_t blocks = 0;
  std::int64_t reused = 0;
  for (const ArrivingRequest& arriving : traffic.requests) {
    lengths.push_back(num_prompt_tokens(arriving.request));
    for (const PromptSegment& segment : arriving.request.prompt) {
      ++blocks;
      if (!seen.insert(segment.content).second) ++reused;
    }
  }
  std::sort(lengths.begin(), lengths.end());
  EXPECT_EQ(lengths[lengths.size() / 2], 8431);
  EXPECT_EQ(lengths.back(), 121924);
  EXPECT_EQ(blocks, 27305);
  EXPECT_EQ(reused, 5791);  // 21.2 %
}

using test::input_of;
using test::words_of;
using testing::HasSubstr;

Result<TrafficLog> read_sessions(const std::string& text) {
  return read_mooncake_sessions(input_of(text, "a.jsonl"));
}

// As AIPerf writes them: a later turn says what it adds.
TEST(MooncakeSessions, WithoutIdsATurnAddsItsTokensToTheHistory) {
  EXPECT_THAT(
      words_of(read_sessions(R"({"session_id": "abc", "input_length": 300, "output_length": 40}
{"input_length": 9, "output_length": 1, "timestamp": 12.5}

{"session_id": "abc", "delay": 2, "input_length": 150, "output_length": 20}
)")),
      ElementsAre("r1 in 0: 300 -> 40", "r2 @12500 in 1: 9 -> 1",
                  "r4 in 0: 300 r1[300+40] 150 -> 20 after r1 +2000"));
}

// Blocks of 4 tokens. The second turn goes on behind the answer, which ends in its third block.
TEST(MooncakeSessions, WithIdsARowIsAWholePromptAndTheAnswerBeforeItIsWhatWasGenerated) {
  const auto log = read_sessions(
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
  EXPECT_THAT(words_of(read_sessions(
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
      words_of(read_sessions(
          R"({"request_id": "a", "session_id": "main", "timestamp": 3, "input_length": 4, "output_length": 2, "hash_ids": [1]}
{"request_id": "b", "session_id": "helper", "timestamp": 9, "input_length": 4, "output_length": 2, "hash_ids": [2], "wait_for": ["a"], "branches": []}
{"request_id": "c", "session_id": "main", "timestamp": 30, "input_length": 4, "output_length": 2, "hash_ids": [3], "wait_for": ["a", "b"], "delay": 1.5, "tool_wait_ms": 20, "tool_events": [{}]}
)")),
      ElementsAre("r1 @3000 in 0: 4 -> 2", "r2 in 0: 4 -> 2 after r1",
                  "r3 in 0: 4 -> 2 after r1 after r2 +21500"));
}

TEST(MooncakeSessions, IdsMayBeNumbers) {
  EXPECT_THAT(words_of(read_sessions(R"({"request_id": 1, "input_length": 4, "output_length": 2}
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
  const auto error = [](const std::string& text) { return read_sessions(text).error().message; };
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

}  // namespace hybridscope::mooncake_test
