#include "sessions/text/json_cutter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace hybridscope::json_cutter_test {
namespace {

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
}  // namespace hybridscope::json_cutter_test
