#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "sessions/text/json_reader.h"

namespace hybridscope::json_reader_test {
namespace {

std::string message(std::string_view text) {
  const auto json = parse_json({.text = text, .file = "f.json"});
  return json.ok() ? "" : json.error().message;
}

TEST(JsonReader, ReadsWhatIsWellFormed) {
  const auto json =
      parse_json({.text = R"({"a": [1, -2, 2.5, true, null, "ü"], "b": {}})", .file = "f.json"});
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json.value(), (nlohmann::json{{"a", {1, -2, 2.5, true, nullptr, "ü"}},
                                          {"b", nlohmann::json::object()}}));
}

TEST(JsonReader, SyntaxErrorsNameLineAndColumn) {
  EXPECT_EQ(message("{\n  \"a\": 1,\n  \"b\" 2\n}"),
            "f.json:3:7: syntax error while parsing object separator - unexpected number literal; "
            "expected ':'");
  EXPECT_EQ(
      message("{\"a\": tru}"),
      "f.json:1:10: syntax error while parsing value - invalid literal; last read: '\"a\": tru}'");
  EXPECT_EQ(message("{} x").substr(0, 11), "f.json:1:4:");
}

TEST(JsonReader, ATruncatedFileIsAnErrorAtItsEnd) {
  EXPECT_EQ(message("{\"a\": [1,\n 2"),
            "f.json:2:3: syntax error while parsing array - unexpected end of input; expected ']'");
  EXPECT_EQ(message(""),
            "f.json:1:1: syntax error while parsing value - unexpected end of input; expected '[', "
            "'{', or a literal");
}

TEST(JsonReader, LinesCountFromTheLineTheTextStartsIn) {
  const auto json = parse_json({.text = "{", .file = "f.jsonl", .line = 17});
  EXPECT_EQ(json.error().message.substr(0, 12), "f.jsonl:17:2");
  EXPECT_EQ(json.error().kind, ErrorKind::corrupt);
}

TEST(JsonReader, BytesThatAreNoUtf8AreRefused) {
  EXPECT_EQ(message("{\n\"a\": \"\xFF\"}"),
            "f.json:2:7: byte 0xFF is no UTF-8 (expected JSON in UTF-8)");
  EXPECT_EQ(message("\"\xC0\xAF\""), "f.json:1:2: byte 0xC0 is no UTF-8 (expected JSON in UTF-8)");
  EXPECT_EQ(message("\"\xED\xA0\x80\""),
            "f.json:1:2: byte 0xED is no UTF-8 (expected JSON in UTF-8)");
  EXPECT_EQ(message("\"\xE2\x82"), "f.json:1:2: byte 0xE2 is no UTF-8 (expected JSON in UTF-8)");
  EXPECT_EQ(message("\"\xF4\x90\x80\x80\""),
            "f.json:1:2: byte 0xF4 is no UTF-8 (expected JSON in UTF-8)");
  EXPECT_EQ(message("\"\xF0\x9F\x98\x80\""), "");
}

TEST(JsonReader, AKeyMayOccurOnceInAnObject) {
  EXPECT_EQ(message(R"({"a": [{"x": 1}, {"k": 1, "k": 2}]})"),
            "f.json: /a/1: key \"k\" occurs twice");
  EXPECT_EQ(message(R"({"a": 1, "a": 2})"), "f.json: key \"a\" occurs twice");
  EXPECT_EQ(message(R"([{"a": 1}, {"a": 2}])"), "");
  EXPECT_EQ(message(R"({"a\nb": 1, "a\nb": 2})"), R"(f.json: key "a\x0Ab" occurs twice)")
      << "one line, whatever the key is";
}

TEST(JsonReader, NestingIsLimited) {
  EXPECT_EQ(message(std::string(64, '[') + std::string(64, ']')), "");
  const std::string deep = message(std::string(65, '[') + std::string(65, ']'));
  EXPECT_NE(deep.find("nested deeper than 64 levels"), std::string::npos) << deep;
}

TEST(JsonReader, SizeIsLimited) {
  const std::string text(kMaxJsonBytes + 1, ' ');
  EXPECT_EQ(message(text), "f.json: more than 67108864 bytes (expected at most that many)");
}

TEST(JsonReader, NumbersBeyondEveryTypeAreErrors) {
  EXPECT_EQ(message("[1e999]"), "f.json:1:6: number overflow parsing '1e999'");
}

TEST(JsonReader, AFileThatIsNotThereIsAnIoError) {
  const auto text = read_text_file("/nowhere/f.json");
  EXPECT_EQ(text.error().kind, ErrorKind::io);
  EXPECT_EQ(text.error().message, "/nowhere/f.json: cannot be opened: No such file or directory");
  EXPECT_EQ(read_text_file("/").error().kind, ErrorKind::io);
}

using testing::ElementsAre;
using Outermost = JsonCutter::Outermost;

// `text`, at most `piece` bytes at a time.
ReadBytes bytes_of(std::string text, std::size_t piece = 3) {
  return [text = std::move(text), piece,
          given = std::size_t{0}](std::span<char> into) mutable -> Result<std::size_t> {
    const std::size_t count = std::min({into.size(), piece, text.size() - given});
    std::memcpy(into.data(), text.data() + given, count);
    given += count;
    return count;
  };
}

// "3: [1]": line and text of each element; the last entry may be an error.
std::vector<std::string> elements_of(const std::string& text,
                                     Outermost outermost = Outermost::array,
                                     std::size_t max_value_bytes = 100) {
  JsonCutter cutter("f", bytes_of(text), max_value_bytes);
  if (const auto entered = cutter.enter(outermost); !entered.ok()) return {entered.error().message};
  std::vector<std::string> elements;
  for (;;) {
    const auto element = cutter.next();
    if (!element.ok()) elements.push_back(element.error().message);
    if (!element.ok() || !element.value()) return elements;
    elements.push_back(std::to_string(cutter.line()) + ": " + element.value()->dump());
  }
}

TEST(JsonCutter, ElementsComeWithTheLinesInWhichTheyBegin) {
  EXPECT_THAT(elements_of("[ {\"a\": [1, 2]},\n\n  [\n3], \"x]\\\"\", 4,null]\n"),
              ElementsAre("1: {\"a\":[1,2]}", "3: [3]", "4: \"x]\\\"\"", "4: 4", "4: null"));
  EXPECT_THAT(elements_of("[]"), ElementsAre());
}

TEST(JsonCutter, LinesOfObjectsAreASequence) {
  EXPECT_THAT(elements_of("{\"a\":1}\n{\"b\":2}{}\n", Outermost::array_or_lines),
              ElementsAre("1: {\"a\":1}", "2: {\"b\":2}", "2: {}"));
  EXPECT_THAT(elements_of("[{\"a\":1}]", Outermost::array_or_lines), ElementsAre("1: {\"a\":1}"));
}

TEST(JsonCutter, ErrorsNameTheLineAndWhatWasExpected) {
  EXPECT_THAT(elements_of("\n{}"), ElementsAre("f:2: found \"{\" (expected an array)"));
  EXPECT_THAT(elements_of(""), ElementsAre("f:1: found the end of the file (expected an array)"));
  EXPECT_THAT(elements_of("[1\n2]"),
              ElementsAre("1: 1", "f:2: found \"2\" (expected \",\" or \"]\")"));
  EXPECT_THAT(elements_of("[1,]"), ElementsAre("1: 1", "f:1: found \"]\" (expected a value)"));
  EXPECT_THAT(elements_of("[1"),
              ElementsAre("1: 1", "f:1: found the end of the file (expected \",\" or \"]\")"));
  EXPECT_THAT(elements_of("[1] 2"),
              ElementsAre("1: 1", "f:1: found \"2\" (expected the end of the file)"));
  EXPECT_THAT(elements_of("[\n{\"a\":\n1"),
              ElementsAre("f:3: the file ends within a value that begins in line 2"));
  EXPECT_THAT(elements_of("[\n  {\"a\":\n  x}]"),
              ElementsAre(testing::StartsWith("f:3:3: syntax error")));
  EXPECT_THAT(elements_of("[1, y]"),
              ElementsAre("1: 1", testing::StartsWith("f:1:5: syntax error")));
}

TEST(JsonCutter, AnElementHasALimitAndASkippedValueNone) {
  EXPECT_THAT(elements_of("[\"0123456789\"]", Outermost::array, 8),
              ElementsAre("f:1: a value of more than 8 bytes"));
  JsonCutter cutter("f", bytes_of(R"({"big": ["0123456789", {"a": "}"}], "small" : 5 })"), 8);
  ASSERT_EQ(cutter.enter(Outermost::object).value(), '{');
  EXPECT_EQ(cutter.next_key().value(), "big");
  ASSERT_TRUE(cutter.skip_value().ok());
  EXPECT_EQ(cutter.next_key().value(), "small");
  EXPECT_EQ(cutter.take_value().value(), 5);
  EXPECT_EQ(cutter.next_key().value(), std::nullopt);
}

TEST(JsonCutter, KeysAreInQuotesAndHaveAColon) {
  JsonCutter bare("f", bytes_of("{a: 1}"));
  ASSERT_TRUE(bare.enter(Outermost::object).ok());
  EXPECT_EQ(bare.next_key().error().message, "f:1: found \"a\" (expected a key in quotes)");
  JsonCutter without("f", bytes_of("{\"a\" 1}"));
  ASSERT_TRUE(without.enter(Outermost::object).ok());
  EXPECT_EQ(without.next_key().error().message, "f:1: found \"1\" (expected \":\" behind the key)");
}

TEST(JsonCutter, AnErrorOfTheBytesIsThatOfTheLine) {
  JsonCutter cutter("f", [first = true](std::span<char> into) mutable -> Result<std::size_t> {
    if (!first) return Error{ErrorKind::io, "cannot be read"};
    first = false;
    into[0] = '[';
    into[1] = '\n';
    return std::size_t{2};
  });
  ASSERT_TRUE(cutter.enter(Outermost::array).ok());
  const auto next = cutter.next();
  EXPECT_EQ(next.error().kind, ErrorKind::io);
  EXPECT_EQ(next.error().message, "f:2: cannot be read");
}

}  // namespace

}  // namespace hybridscope::json_reader_test
