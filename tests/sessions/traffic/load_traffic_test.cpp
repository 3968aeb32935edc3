#include "sessions/traffic/load_traffic.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fstream>
#include <sstream>

#include "sessions/traffic/mooncake.h"
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
  ASSERT_GT(text.size(), kTrafficHeadBytes);
  const auto log = read(text);
  ASSERT_TRUE(log.ok()) << log.error().message;
  ASSERT_EQ(log.value().requests.size(), 2000U);
  EXPECT_EQ(log.value().requests[1999].arrival_us, 1999000);
}

}  // namespace

}  // namespace hybridscope::load_traffic_test
