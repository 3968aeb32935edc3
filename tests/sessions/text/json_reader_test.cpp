#include "sessions/text/json_reader.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

}  // namespace
}  // namespace hybridscope::json_reader_test
