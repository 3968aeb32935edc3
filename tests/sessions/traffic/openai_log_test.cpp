#include "sessions/traffic/openai_log.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/traffic/openai_line.h"
#include "tests/sessions/traffic/log_words.h"

namespace hybridscope::openai_log_test {
namespace {

using test::input_of;
using test::words_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Result<TrafficLog> read(const std::string& text) {
  return read_openai_log(input_of(text, "o.jsonl"));
}

std::string said(const std::string& role, std::size_t bytes, char letter) {
  return R"({"role": ")" + role + R"(", "content": ")" + std::string(bytes, letter) + "\"}";
}

TEST(OpenAiLog, LinesOfTheBatchApiHaveABody) {
  const auto log = read(
      R"({"custom_id": "request-1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "messages": [{"role": "system", "content": "abcd"}, {"role": "user", "content": "abcdefgh"}], "max_tokens": 1000}}
{"custom_id": "request-2", "body": {"model": "m", "prompt": "abcde"}}
)");
  EXPECT_THAT(words_of(log), ElementsAre("r1 in 0: 1 2 -> 1000", "r2 in 1: 2 -> 256"));
  EXPECT_THAT(log.value().notes,
              ElementsAre("no output tokens are logged, so 256 are assumed: 1 request"));
}

TEST(OpenAiLog, ALogHasTimesAndWhatWasCounted) {
  EXPECT_THAT(
      words_of(read(
          R"({"timestamp": 1732695966.5, "request": {"prompt": [1, 2, 3, 4, 5]}, "response": {"usage": {"prompt_tokens": 5, "completion_tokens": 3}}}
{"timestamp": "2024-11-27T08:26:07Z", "request": {"prompt": "0123456789abcdef"}, "response": {"usage": {"prompt_tokens": 10, "completion_tokens": 0}}}
{"request": {"prompt": "x"}, "response": {"created": 1732695970, "choices": [{"text": "0123456789"}]}}
)")),
      ElementsAre("r1 @0 in 0: 5 -> 3", "r2 @500000 in 1: 10 -> 1", "r3 @3500000 in 2: 1 -> 3"));
}

// The first turn has 100 tokens for 80 bytes; the second keeps them, and its new text has the rest.
TEST(OpenAiLog, ALaterTurnIsRecognisedByItsMessagesAndKeepsTheTokensOfItsBeginning) {
  const std::string first = said("user", 80, 'a');
  const auto log = read(
      R"({"timestamp": 10, "request": {"messages": [)" + first +
      R"(]}, "response": {"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 100, "completion_tokens": 7}}}
{"timestamp": 30, "request": {"messages": [)" +
      first + R"(, {"role": "assistant", "content": "yes"}, )" + said("user", 40, 'b') +
      R"(]}, "response": {"usage": {"prompt_tokens": 120, "completion_tokens": 9}}}
)");
  EXPECT_THAT(words_of(log), ElementsAre("r1 @0 in 0: 100 -> 7",
                                         "r2 @20000000 in 0: 100 r1[100+7] 13 -> 9 after r1"));
  EXPECT_EQ(log.value().requests[0].request.prompt[0], log.value().requests[1].request.prompt[0]);
}

TEST(OpenAiLog, AnAnswerThatWasNotLoggedIsTheMessageBehindItsQuestion) {
  const std::string first = said("user", 8, 'a');
  EXPECT_THAT(words_of(read(R"({"messages": [)" + first + R"(], "max_tokens": 4})" + "\n" +
                            R"({"messages": [)" + first + "," + said("assistant", 40, 'c') + "," +
                            said("user", 4, 'b') + R"(], "max_completion_tokens": 2})")),
              ElementsAre("r1 in 0: 2 -> 4", "r2 in 0: 2 r1[2+4] 1 -> 2 after r1"));
}

TEST(OpenAiLog, AnAnswerThatWasChangedIsAText) {
  const std::string first = said("user", 8, 'a');
  EXPECT_THAT(
      words_of(read(R"({"request": {"messages": [)" + first +
                    R"(]}, "response": {"choices": [{"message": {"content": "yes"}}]}})" + "\n" +
                    R"({"request": {"messages": [)" + first + "," + said("assistant", 8, 'n') +
                    "," + said("user", 4, 'b') + R"(], "max_tokens": 2}})")),
      ElementsAre("r1 in 0: 2 -> 1", "r2 in 1: 2 2 1 -> 2"));
}

TEST(OpenAiLog, PartsOfAContentAndToolsAreText) {
  EXPECT_THAT(
      words_of(read(
          R"({"model": "m", "tools": [{"a":1}], "max_tokens": 1, "messages": [{"role": "user", "content": [{"type": "text", "text": "abcd"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "e"}]}, {"role": "assistant", "content": null, "tool_calls": [{"b":2}]}]})")),
      ElementsAre("r1 in 0: 3 2 3 -> 1"));
}

TEST(OpenAiLog, PromptsThatCannotHaveTheirLengthAndRequestsThatFailedAreCounted) {
  const auto log = read(
      R"({"request": {"prompt": "abcdefgh"}, "response": {"usage": {"prompt_tokens": 50, "completion_tokens": 1}}}
{"request": {"prompt": "abcdefgh"}, "response": {"usage": {"prompt_tokens": 40, "completion_tokens": 1}}}
{"request": {"prompt": "abc"}, "response": {"status_code": 500}}
{"request": {"prompt": "abc"}, "error": {"message": "no"}}
)");
  EXPECT_THAT(words_of(log), ElementsAre("r1 in 0: 50 -> 1", "r2 in 1: 50 -> 1"));
  EXPECT_THAT(log.value().notes,
              ElementsAre("left out because the response is an error: 2 requests",
                          HasSubstr("the prompt has another length than the log says")));
}

// Both are ten seconds apart.
TEST(OpenAiLog, TimesAreMillisecondsFromTenToTheEleventhOnAsNumbersAndAsTexts) {
  for (const char* quote : {"", "\""}) {
    const auto log =
        read(fmt::format("{{\"prompt\": \"x\", \"timestamp\": {0}1700000000000{0}}}\n"
                         "{{\"prompt\": \"x\", \"timestamp\": {0}1700000010000{0}}}",
                         quote));
    const auto& requests = log.value().requests;
    EXPECT_EQ(*requests[1].arrival_us - *requests[0].arrival_us, 10'000'000);
  }
}

TEST(OpenAiLog, ErrorsNameTheLine) {
  const auto error = [](const std::string& text) { return read(text).error().message; };
  EXPECT_THAT(error("{\"request\": {}}"),
              HasSubstr("o.jsonl:1: there is neither \"messages\" nor \"prompt\" in the request"));
  EXPECT_EQ(error("{\"prompt\": \"x\"}\n{\"prompt\": 5}"),
            "o.jsonl:2: /prompt: expected a text or a list of token ids, found 5");
  EXPECT_EQ(error("{\"messages\": [{\"content\": \"x\"}]}"),
            "o.jsonl:1: /messages/0: expected an object with \"role\", found an object");
  EXPECT_EQ(error("{\"messages\": []}"),
            "o.jsonl:1: /messages: no message (expected at least one)");
  EXPECT_EQ(error("{\"messages\": [{\"role\": \"user\", \"content\": 5}]}"),
            "o.jsonl:1: /messages/0/content: expected a text or an array of parts, found 5");
  EXPECT_THAT(error("{\"prompt\": \"x\", \"timestamp\": \"soon\"}"),
              HasSubstr("o.jsonl:1: /timestamp: expected seconds or milliseconds since 1970"));
  EXPECT_EQ(error("{\"prompt\": \"x\", \"usage\": {\"prompt_tokens\": -1}}"),
            "o.jsonl:1: /usage/prompt_tokens: expected an integer from 0 to 16777216, found -1");
  EXPECT_EQ(error("[]"), "o.jsonl:1: expected an object, found an array of 0");
  EXPECT_EQ(error("\n"), "o.jsonl: no request (expected one JSON object a line)");
}

TEST(OpenAiLine, IsoTimesAreMicrosecondsSince1970) {
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(parse_iso_time("2024-11-27T09:26:07.922519"), 1732699567922519);
  EXPECT_EQ(parse_iso_time("2024-11-27 09:26:07.5+01:00"), 1732695967500000);
  EXPECT_EQ(parse_iso_time("2024-11-27T09:26:07-0130"), 1732704967000000);
  for (const char* text :
       {"", "2024-11-27", "2024-13-27T09:26:07Z", "2024-02-30T00:00:00Z", "2024-11-27T24:26:07Z",
        "2024-11-27T09:26:07Zx", "1969-11-27T09:26:07Z", "2024-11-27T09:26:07.Z"})
    EXPECT_EQ(parse_iso_time(text), std::nullopt) << text;
}

}  // namespace
}  // namespace hybridscope::openai_log_test
