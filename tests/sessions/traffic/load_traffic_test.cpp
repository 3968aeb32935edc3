#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sessions/scenario/scenario.h"
#include "sessions/traffic/load_traffic.h"
#include "sessions/traffic/traffic_formats.h"
#include "sessions/traffic/traffic_load.h"
#include "tests/support/bytes_of.h"

namespace hybridscope::load_traffic_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Result<TrafficLog> read(const std::string& text, std::string_view format = {}) {
  std::istringstream bytes(text);
  return read_traffic_log({.read = test::bytes_of(bytes), .file = "t"}, format);
}

std::string format_of(std::string_view head) {
  const TrafficFormat* format = recognise_traffic(head);
  return format == nullptr ? "" : std::string(format->name);
}

TEST(TrafficFormats, AreRecognisedByTheBeginningOfTheFile) {
  EXPECT_EQ(
      format_of(R"({"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": []})"),
      "mooncake");
  EXPECT_EQ(format_of(R"({"session_id": "a", "input_length": 600, "output_length": 5})"),
            "mooncake-sessions");
  EXPECT_EQ(format_of(R"({"timestamp": 0, "input_length": 600, "output_length": 5})"),
            "mooncake-sessions");
  EXPECT_EQ(format_of(R"( [{"id": "a", "conversations": [)"), "sharegpt");
  EXPECT_EQ(format_of("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,"),
            "burstgpt");
  EXPECT_EQ(format_of(R"({"date": "x", "backend": "vllm", "model_id": "m", "num_prompts": 3,
                          "request_rate": "inf")"),
            "vllm-bench");
  EXPECT_EQ(format_of(R"({"custom_id": "a", "body": {"messages": [)"), "openai-log");
  EXPECT_EQ(format_of(R"({"model": "m", "prompt": "x"})"), "openai-log");
  EXPECT_EQ(format_of(R"({"version": 1, "model": "m", "requests": [{"id": "A", "prompt": 4}]})"),
            "");
  EXPECT_EQ(format_of(R"({"hybridscope_trace": 1, "settings": {}})"), "");
  EXPECT_EQ(format_of(R"({"version": 1, "name": "n", "requests": []})"), "");
  EXPECT_EQ(format_of("\"input_length\""), "");
  EXPECT_EQ(format_of(""), "");
}

TEST(TrafficFormats, AnOpenAiLogHasItsPromptInTheLineTheRequestOrTheBody) {
  EXPECT_EQ(format_of(R"({"a": {"prompt": "x"}, "model": "m"})"), "");
  EXPECT_EQ(format_of(R"({"input": [{"prompt": "x"}], "model": "m"})"), "");
  EXPECT_EQ(format_of(R"({"a": "\"prompt\": 1"})"), "");
  EXPECT_EQ(format_of(R"({"request": {"body": {"messages": [{"role")"), "openai-log");
}

TEST(TrafficFormats, KeysInsideARequestSayNothingAboutTheFormat) {
  const std::string tool = R"({"messages": [], "tools": [{"parameters": {"properties": )";
  EXPECT_EQ(format_of(tool + R"({"conversations": {}, "input_length": {}}}}]})"), "openai-log");
  EXPECT_EQ(format_of(R"({"messages": [{"role": "user", "content": "\"input_length\": 5"}]})"),
            "openai-log");
  EXPECT_EQ(
      format_of(R"({"request": {"prompt": "x"}, "response": {"usage": {"input_tokens": 5}}})"),
      "openai-log");
  EXPECT_EQ(format_of(R"({"prompt": "x", "input_tokens": 5})"), "openai-log");
  EXPECT_EQ(format_of(R"({"prompt": "x", "input_length": 5})"), "openai-log");
  EXPECT_EQ(format_of(R"({"request": {"messages": []}, "input_length": 5})"), "openai-log");
}

TEST(TrafficFormats, ALaterTurnSaysThatRowsHaveSessions) {
  const std::string first = R"({"timestamp": 0, "input_length": 6, "hash_ids": [1]})";
  EXPECT_EQ(format_of(first + "\n" + first), "mooncake");
  EXPECT_EQ(format_of(first + "\n" + R"({"input_length": 9, "delay": 5, "hash_ids": [1, 2]})"),
            "mooncake-sessions");
}

TEST(TrafficFormats, KeysOfTheFirstObjectAreFoundAsFarAsTheTextGoes) {
  EXPECT_THAT(keys_of_first_object(R"( {"a": {"b": 1, "c" : {}}, "d": [{"e": 2}, "f"], "g\"": "h)"),
              ElementsAre("a", "a.b", "a.c", "d", "g\\\""));
  EXPECT_THAT(keys_of_first_object(R"({"a": 1} {"b": 2})"), ElementsAre("a"));
  EXPECT_THAT(keys_of_first_object(R"([{"a": 1}])"), ElementsAre());
  EXPECT_THAT(keys_of_first_object(R"({"a)"), ElementsAre());
  EXPECT_THAT(keys_of_first_object("{]}}"), ElementsAre());
  EXPECT_THAT(keys_of_first_object("{{\"a\": 1"), ElementsAre("a"));
}

TEST(TrafficFormats, AFileOfNoKnownFormatIsAnErrorThatShowsItsBeginningAndNamesTheFormats) {
  EXPECT_THAT(
      read("a,b\n1,2\n").error().message,
      HasSubstr("t:1: begins with \"a,b\", which is no known traffic (--traffic-format names "
                "the format: openai-log, mooncake-sessions, mooncake, sharegpt, "
                "burstgpt, vllm-bench)"));
}

TEST(TrafficFormats, AGivenFormatIsReadWhateverTheFileBeginsWith) {
  EXPECT_EQ(read("[]", "mooncake").error().message, "t:1: expected an object, found an array of 0");
  EXPECT_THAT(
      read("[]", "mooncak").error().message,
      HasSubstr(
          "there is no traffic format \"mooncak\" (there are openai-log, mooncake-sessions, "));
}

TEST(TrafficFormats, AFileWithoutAByteHasNoRequest) {
  EXPECT_EQ(read("").error().message, "t: no request (expected one JSON object a line)");
}

TEST(TrafficFormats, EachFormatIsDocumented) {
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/docs/traffic.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const TrafficFormat& format : traffic_formats()) {
    const std::string row =
        fmt::format("| `{}` | {} | {} |\n", format.name, format.description, format.recognised_by);
    EXPECT_NE(text.find(row), std::string::npos) << row;
    EXPECT_NE(text.find(fmt::format("\n## {}\n", format.name)), std::string::npos) << format.name;
  }
}

// The first block of the format's section.
std::string documented_example(const std::string& text, std::string_view format) {
  const std::size_t section = text.find(fmt::format("\n## {}\n", format));
  const std::size_t begin = text.find("\n```\n", section) + 5;
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST(TrafficFormats, TheExamplesOfTheDocumentationAreRecognisedAndRead) {
  std::ifstream file(HYBRIDSCOPE_SOURCE_DIR "/docs/traffic.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const TrafficFormat& format : traffic_formats()) {
    const std::string example = documented_example(text, format.name);
    EXPECT_EQ(format_of(example), format.name) << example;
    const auto log = read(example);
    EXPECT_TRUE(log.ok()) << format.name << ": " << log.error().message;
  }
}

// More than the head, which is looked at before it is read.
TEST(TrafficFormats, WhatWasLookedAtIsReadOnceMore) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += R"({"timestamp": )" + std::to_string(i) +
            R"(, "input_length": 5, "output_length": 1, "hash_ids": [3]})" + "\n";
  ASSERT_GT(text.size(), std::size_t{64} << 10);  // the head that is looked at
  const auto log = read(text);
  ASSERT_TRUE(log.ok()) << log.error().message;
  ASSERT_EQ(log.value().requests.size(), 2000U);
  EXPECT_EQ(log.value().requests[1999].arrival_us, 1999000);
}

using testing::IsEmpty;

struct Turn {
  const char* name;
  int conversation;
  std::int64_t arrival_us;  // -1: none
  std::vector<std::int32_t> after = {};
  std::int64_t delay_us = 0;
};

TrafficLog log_of(const std::vector<Turn>& turns) {
  TrafficLog log;
  for (const Turn& turn : turns) {
    LoggedRequest logged{
        .request = {.name = turn.name, .prompt = {{.content = 1, .length = 10}}, .max_tokens = 3},
        .conversation = turn.conversation,
        .after = turn.after,
        .delay_us = turn.delay_us};
    if (turn.arrival_us >= 0) logged.arrival_us = turn.arrival_us;
    log.requests.push_back(std::move(logged));
  }
  return log;
}

// "b 7 after a +5": arrival, whom it waits for, delay.
std::vector<std::string> arrange(const TrafficLog& log, const TrafficLoad& load) {
  const Traffic traffic = arrange_traffic(log, load).value();
  std::vector<std::string> lines;
  for (const ArrivingRequest& arriving : traffic.requests) {
    std::string line = fmt::format("{} {}", arriving.request.name, arriving.arrival_us);
    for (const std::string& other : arriving.after) line += " after " + other;
    if (arriving.delay_us > 0) line += fmt::format(" +{}", arriving.delay_us);
    lines.push_back(line);
  }
  return lines;
}

// Two conversations whose turns alternate in the file, and a lone request.
TrafficLog three_conversations() {
  return log_of({{"a1", 5, 100},
                 {"b1", 2, 200},
                 {"a2", 5, 900, {0}, 30},
                 {"c1", 9, 1000},
                 {"b2", 2, 1100, {1}}});
}

TEST(TrafficLoad, WithoutOptionsTheTimesAreTheFilesAndATurnWaitsForTheOneBeforeIt) {
  EXPECT_THAT(
      arrange(three_conversations(), {}),
      ElementsAre("a1 100", "b1 200", "a2 900 after a1 +30", "c1 1000", "b2 1100 after b1"));
}

TEST(TrafficLoad, ATurnWithoutATimeComesWhenItsPredecessorHasEnded) {
  EXPECT_THAT(arrange(log_of({{"a1", 0, 100}, {"b1", 1, 50}, {"a2", 0, -1, {0}, 7}}), {}),
              ElementsAre("b1 50", "a1 100", "a2 100 after a1 +7"));
}

TEST(TrafficLoad, AUsersNextConversationBeginsWhenTheLastOneHasEnded) {
  EXPECT_THAT(
      arrange(three_conversations(), {.users = 1}),
      ElementsAre("a1 0", "a2 0 after a1 +30", "b1 0 after a2", "b2 0 after b1", "c1 0 after b2"));
  EXPECT_THAT(arrange(three_conversations(), {.users = 2}),
              ElementsAre("a1 0", "a2 0 after a1 +30", "b1 0", "b2 0 after b1", "c1 0 after a2"));
  EXPECT_THAT(arrange(three_conversations(), {.users = 3}),
              ElementsAre("a1 0", "a2 0 after a1 +30", "b1 0", "b2 0 after b1", "c1 0"));
}

TEST(TrafficLoad, AConversationWithSeveralEndsHasEndedWithTheLast) {
  EXPECT_THAT(arrange(log_of({{"a", 0, 0},
                              {"left", 0, -1, {0}},
                              {"right", 0, -1, {0}},
                              {"b", 1, 50},
                              {"b's helper", 1, 80}}),
                      {.users = 1}),
              ElementsAre("a 0", "left 0 after a", "right 0 after a", "b 0 after left after right",
                          "b's helper 0 after left after right +30"));
}

// So that the first requests of a file can be taken.
TEST(TrafficLoad, ARequestStandsBehindThoseThatItWaitsFor) {
  EXPECT_THAT(arrange(log_of({{"a1", 0, 0}, {"a2", 0, 10}, {"b", 1, 20}}), {.users = 1}),
              ElementsAre("a1 0", "a2 10", "b 10 after a1 after a2"));
}

TEST(TrafficLoad, AThinkTimeReplacesTheFilesDelaysAndTimesOfFollowers) {
  EXPECT_THAT(
      arrange(three_conversations(), {.think_us = 5}),
      ElementsAre("a1 100", "a2 100 after a1 +5", "b1 200", "b2 200 after b1 +5", "c1 1000"));
  EXPECT_THAT(
      arrange(three_conversations(), {.users = 1, .think_us = 0}),
      ElementsAre("a1 0", "a2 0 after a1", "b1 0 after a2", "b2 0 after b1", "c1 0 after b2"));
}

TEST(TrafficLoad, ARateGivesConversationsOtherStartsInTheFilesOrder) {
  const Traffic traffic = arrange_traffic(three_conversations(), {.rate = 2'000'000}).value();
  ASSERT_EQ(traffic.requests.size(), 5U);
  EXPECT_THAT(
      arrange(three_conversations(), {.rate = 2'000'000}),
      ElementsAre("a1 0", "a2 0 after a1 +30", "b1 172312", "b2 172312 after b1", "c1 190698"));
  EXPECT_THAT(
      arrange(three_conversations(), {.rate = 2'000'000, .seed = 7}),
      testing::Not(testing::ElementsAreArray(arrange(three_conversations(), {.rate = 2'000'000}))));
}

TEST(TrafficLoad, TheMeanTimeBetweenConversationsIsThatOfTheRate) {
  TrafficLog log;
  for (int i = 0; i < 4000; ++i)
    log.requests.push_back({.request = {.name = fmt::format("r{}", i)}, .conversation = i});
  const Traffic traffic = arrange_traffic(log, {.rate = 4'000'000}).value();
  EXPECT_NEAR(static_cast<double>(traffic.requests.back().arrival_us) / 4000, 250'000, 10'000);
}

TEST(TrafficLoad, AFileWithoutTimesRunsAtOneConversationASecondAndANoteSaysSo) {
  const TrafficLog log = log_of({{"a", 0, -1}, {"b", 1, -1}, {"b2", 1, -1, {1}}});
  EXPECT_EQ(arrange(log, {}), arrange(log, {.rate = 1'000'000}));
  EXPECT_THAT(arrange_traffic(log, {}).value().notes,
              ElementsAre("the file has no times: conversations begin one a second on average "
                          "(--request-rate, or --users for a closed loop)"));
  EXPECT_THAT(arrange_traffic(log_of({{"a", 0, 7}, {"b", 1, -1}}), {}).value().notes,
              ElementsAre(HasSubstr("the file has no time for 1 request: ")));
  EXPECT_THAT(arrange_traffic(log, {.rate = 1'000'000}).value().notes, IsEmpty());
  EXPECT_THAT(arrange_traffic(log, {.users = 1}).value().notes, IsEmpty());
}

TEST(TrafficLoad, AThinkTimeWithoutConversationsIsNoted) {
  EXPECT_THAT(arrange_traffic(log_of({{"a", 0, 5}}), {.think_us = 9}).value().notes,
              ElementsAre("no request follows another one, so there is no think time"));
}

TEST(TrafficLoad, LoadsOutOfRangeAreErrors) {
  const auto error = [](const TrafficLoad& load) {
    const auto traffic = arrange_traffic(three_conversations(), load);
    return traffic.ok() ? "" : traffic.error().message;
  };
  EXPECT_EQ(error({.users = -1}), "the number of users is -1 (allowed: 0 to 1000000)");
  EXPECT_EQ(error({.think_us = -1}), "the think time in us is -1 (allowed: 0 to 86400000000)");
  EXPECT_THAT(error({.users = 1, .rate = 1}), HasSubstr("exclude each other"));
  EXPECT_THAT(error({.rate = 1'000'000'000'001}), HasSubstr("the rate, in conversations per"));
}

TEST(TrafficLoad, AnArrivalAfterTheLastTimeIsAnError) {
  TrafficLog log;
  for (int i = 0; i < 6000; ++i)
    log.requests.push_back({.request = {.name = fmt::format("r{}", i)}, .conversation = i});
  EXPECT_THAT(arrange_traffic(log, {.rate = 1}).error().message,
              HasSubstr("(allowed: up to 4503599627370496)"));
}

TEST(TrafficLoad, SyntheticConversationsWaitOnlyIfTheUserAsks) {
  const SyntheticTrafficOptions options{.seed = 3, .num_conversations = 5};
  const Traffic open = make_synthetic_traffic(options).value();
  for (const ArrivingRequest& arriving : open.requests) EXPECT_THAT(arriving.after, IsEmpty());
  const Traffic closed = arrange_traffic(make_synthetic_log(options).value(), {.users = 5}).value();
  for (const ArrivingRequest& arriving : closed.requests) {
    EXPECT_EQ(arriving.arrival_us, 0);
    const bool first = arriving.request.name.ends_with(".t1");
    EXPECT_EQ(arriving.after.size(), first ? 0U : 1U) << arriving.request.name;
    EXPECT_EQ(arriving.delay_us > 0, !first) << arriving.request.name;
  }
}

}  // namespace

}  // namespace hybridscope::load_traffic_test
