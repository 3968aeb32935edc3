// Logs of real traffic in their formats: OpenAI, vllm bench serve, BurstGPT, ShareGPT.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic_formats.h"
#include "tests/sessions/traffic/log_words.h"

namespace hybridscope::traffic_logs_test {
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

// The members that vllm bench serve writes before the measured ones.
std::string result_with(const std::string& members) {
  return R"({"date": "20261128-073000", "endpoint_type": "vllm", "backend": "vllm", "label": null,
 "model_id": "m", "tokenizer_id": "m", "num_prompts": 3, "request_rate": "inf",
 "burstiness": 1.0, "max_concurrency": null, "duration": 1.5, "completed": 3)" +
         members + ", \"mean_ttft_ms\": 20.5}\n";
}

Result<TrafficLog> read_bench(const std::string& text) {
  return read_vllm_bench(input_of(text, "r.json"));
}

TEST(VllmBench, ARequestHasTheLengthsAndTheStartOfTheArrays) {
  const auto log =
      read_bench(result_with(R"(, "input_lens": [1024, 7, 12], "output_lens": [128, 3, 0],
 "ttfts": [0.1, 0.2, 0.3], "itls": [[0.01, 0.02], [], []],
 "start_times": [500.25, 499.75, 501.0], "generated_texts": ["a", "]}", "\"{"],
 "errors": ["", "", ""])"));
  EXPECT_THAT(words_of(log), ElementsAre("r1 @500000 in 0: 1024 -> 128", "r2 @0 in 1: 7 -> 3",
                                         "r3 @1250000 in 2: 12 -> 1"));
  EXPECT_EQ(log.value().num_out_of_order, 1);
  EXPECT_EQ(log.value().num_without_output, 1);
  EXPECT_THAT(log.value().notes,
              ElementsAre("the file has no contents, so no prompt shares anything"));
}

TEST(VllmBench, WithoutStartsRequestsHaveNoTime) {
  EXPECT_THAT(words_of(read_bench(result_with(R"(, "input_lens": [5], "output_lens": [6])"))),
              ElementsAre("r1 in 0: 5 -> 6"));
}

TEST(VllmBench, RequestsThatFailedAreLeftOut) {
  const auto log = read_bench(result_with(
      R"(, "input_lens": [5, 5, 0], "output_lens": [6, 0, 6], "errors": ["", "timeout", ""])"));
  EXPECT_THAT(words_of(log), ElementsAre("r1 in 0: 5 -> 6"));
  EXPECT_EQ(log.value().notes.front(),
            "left out because they failed or have no prompt: 2 of 3 requests");
}

TEST(VllmBench, AResultWithoutDetailsNamesTheOptionThatWritesThem) {
  EXPECT_EQ(read_bench(result_with("")).error().message,
            "r.json:1: there is no \"input_lens\" (expected a result that vllm bench serve wrote "
            "with --save-result --save-detailed)");
}

TEST(VllmBench, ErrorsNameTheLineOfTheArray) {
  const auto error = [](const std::string& members) {
    return read_bench(result_with(members)).error().message;
  };
  EXPECT_EQ(error(R"(, "input_lens": [5, 6], "output_lens": [6])"),
            "r.json:3: /output_lens: found 1 elements (expected 2, as input_lens has)");
  EXPECT_EQ(error(R"(, "input_lens": [5, -6], "output_lens": [6, 6])"),
            "r.json:3: /input_lens/1: expected an integer from 0 to 16777216, found -6");
  EXPECT_EQ(error(", \"input_lens\": [5], \"output_lens\":\n [6], \"start_times\":\n [\"x\"]"),
            "r.json:5: /start_times/0: expected a number of seconds, found \"x\"");
  EXPECT_EQ(error(R"(, "input_lens": 5)"), "r.json:3: /input_lens: expected an array, found 5");
  EXPECT_EQ(error(R"(, "input_lens": [], "output_lens": [])"), "r.json:3: /input_lens: no request");
  EXPECT_EQ(
      read_bench(result_with(R"(, "input_lens": [5], "output_lens": [6])") + "{}").error().message,
      "r.json:4: found \"{\" (expected the end of the file)");
}

constexpr const char* kHeader =
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n";
constexpr const char* kSessionHeader =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log "
    "Type\n";

Result<TrafficLog> read_gpt(const std::string& text) {
  return read_burstgpt(input_of(text, "b.csv"));
}

// The first lines of BurstGPT_1.csv, with an empty request of its.
TEST(BurstGpt, ALineIsARequestOfItsOwnAndTimesCountFromTheFirst) {
  const auto log = read_gpt(std::string(kHeader) +
                            "5,ChatGPT,472,18,490,Conversation log\n"
                            "45,ChatGPT,1087,230,1317,Conversation log\n"
                            "1106,ChatGPT,0,0,0,Conversation log\r\n"
                            "118.5,GPT-4,417,0,693,API log\n");
  EXPECT_THAT(words_of(log), ElementsAre("r2 @0 in 0: 472 -> 18", "r3 @40000000 in 1: 1087 -> 230",
                                         "r5 @113500000 in 2: 417 -> 1"));
  EXPECT_EQ(log.value().num_without_output, 1);
  EXPECT_THAT(log.value().notes,
              ElementsAre("1 line without request tokens left out",
                          "the file has no sessions, so no prompt shares anything"));
}

TEST(BurstGpt, ATurnOfASessionBeginsWithTheHistoryIfItHasRoomForIt) {
  const auto log = read_gpt(std::string(kSessionHeader) +
                            "19440110.0,s1,2.5,GPT-4,100,20,120,Conversation log\n"
                            "19440111.0,,1,GPT-4,50,5,55,API log\n"
                            "19440120.0,s1,3,GPT-4,150,30,180,Conversation log\n"
                            "19440130.0,s1,3,GPT-4,179,10,189,Conversation log\n"
                            "19440140.0,s1,3,GPT-4,189,10,199,Conversation log\n");
  EXPECT_THAT(words_of(log),
              ElementsAre("r2 @0 in 0: 100 -> 20", "r3 @1000000 in 1: 50 -> 5",
                          "r4 @10000000 in 0: 100 r2[100+20] 30 -> 30 after r2 +7500000",
                          "r5 @20000000 in 0: 179 -> 10 after r4 +7000000",
                          "r6 @30000000 in 0: 179 r5[179+10] -> 10 after r5 +7000000"));
  EXPECT_THAT(log.value().notes, ElementsAre());
}

TEST(BurstGpt, LinesOutOfOrderAreCounted) {
  EXPECT_EQ(read_gpt(std::string(kHeader) + "5,m,1,1,2,x\n4,m,1,1,2,x\n9,m,1,1,2,x\n")
                .value()
                .num_out_of_order,
            1);
}

TEST(BurstGpt, ErrorsNameTheLineAndTheColumn) {
  const auto error = [](const std::string& text) { return read_gpt(text).error().message; };
  EXPECT_EQ(error("a,b\n1,2\n"),
            "b.csv:1: found \"a,b\" (expected a header with Timestamp, Request tokens and Response "
            "tokens)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,1,1\n"),
            "b.csv:2: found 4 fields (expected 6, as the header has)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,1,1,2,x\n-5,m,1,1,2,x\n"),
            "b.csv:3: Timestamp: found \"-5\" (expected seconds from 0 to 4503599627)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,1.5,1,2,x\n"),
            "b.csv:2: Request tokens: found \"1.5\" (expected an integer from 0 to 16777216)");
  EXPECT_EQ(error(std::string(kHeader) + "5,m,7,,2,x\n"),
            "b.csv:2: Response tokens: found \"\" (expected an integer from 0 to 16777216)");
  EXPECT_EQ(error(kHeader), "b.csv:1: no request (expected one behind the header)");
}

std::string message(const std::string& from, std::size_t bytes, char letter = 'a') {
  return R"({"from": ")" + from + R"(", "value": ")" + std::string(bytes, letter) + "\"}";
}

std::string conversation(const std::vector<std::string>& messages) {
  std::string text = R"({"id": "x", "conversations": [)";
  for (const std::string& one : messages) text += (text.back() == '[' ? "" : ",\n ") + one;
  return text + "]}";
}

Result<TrafficLog> read_chats(const std::string& text) {
  return read_sharegpt(input_of(text, "s.json"));
}

// Of 64 tokens, and the rest.
TEST(ShareGpt, ATurnAsksWithTheWholeHistoryInWhichAnswersAreWhatWasGenerated) {
  EXPECT_THAT(words_of(read_chats(
                  "[" +
                  conversation({message("system", 12), message("human", 257), message("gpt", 41),
                                message("human", 4), message("gpt", 5)}) +
                  "]")),
              ElementsAre("c1.t1 in 0: 3 64 1 -> 11",
                          "c1.t2 in 0: 3 64 1 c1.t1[68+11] 1 -> 2 after c1.t1"));
}

TEST(ShareGpt, EqualTextsAreSharedPieceByPiece) {
  const std::string same(256, 'a');
  const auto log = read_chats("[" + conversation({message("human", 300), message("gpt", 4)}) + "," +
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
  EXPECT_THAT(words_of(read_chats(R"({"messages": [{"role": "user", "content": "abcd"},)"
                                  R"( {"role": "assistant", "content": null}]})"
                                  "\n"
                                  R"({"conversations": [{"from": "user", "value": "abcdefgh"},)"
                                  R"( {"from": "chatgpt", "value": "x"}]})")),
              ElementsAre("c1.t1 in 0: 1 -> 1", "c2.t1 in 1: 2 -> 1"));
}

TEST(ShareGpt, AnAnswerThatNobodyAskedForIsHistoryAndAQuestionWithoutAnAnswerNoTurn) {
  const auto log = read_chats("[" +
                              conversation({message("gpt", 40), message("human", 4),
                                            message("gpt", 8), message("human", 4)}) +
                              ",\n" + conversation({message("human", 4)}) + "]");
  EXPECT_THAT(words_of(log), ElementsAre("c1.t1 in 0: 10 1 -> 2"));
  EXPECT_THAT(log.value().notes,
              ElementsAre("left out because no user is answered: 1 of 2 conversations",
                          "tokens are counted as bytes of text by 4, rounded up"));
}

TEST(ShareGpt, ErrorsNameTheLineInWhichTheConversationBegins) {
  const auto error = [](const std::string& text) { return read_chats(text).error().message; };
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
  ASSERT_TRUE(history.ask(log, "a", 3).ok());
  ASSERT_TRUE(history.ask(log, "b", 2).ok());
  EXPECT_THAT(words_of(log), ElementsAre("a in 0: 1 -> 3", "b in 0: 1 a[1+3] -> 2 after a"));
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
}  // namespace hybridscope::traffic_logs_test
