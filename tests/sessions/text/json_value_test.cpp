#include "sessions/text/json_value.h"

#include <gmock/gmock.h>
#include <simdjson.h>

#include <array>
#include <functional>
#include <nlohmann/json.hpp>

namespace hybridscope::json_value_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Read = std::function<void(const JsonValue&)>;

std::string message_of(const JsonValue& value, const Read& read) {
  const Status done = read_json("f.json", [&] { read(value); });
  return done.ok() ? "" : done.error().message;
}

// What reading the text as a document says, "" if nothing is wrong.
std::string in_document(std::string_view text, const Read& read) {
  const auto json = nlohmann::json::parse(text);
  return message_of(JsonValue(json), read);
}

// What reading the text as a line of a trace says.
std::string in_line(std::string_view text, const Read& read) {
  simdjson::dom::parser parser;
  const simdjson::dom::element line = parser.parse(text);
  return message_of(JsonValue::of_line(line), read);
}

// What both say.
std::string in_both(std::string_view text, const Read& read) {
  EXPECT_EQ(in_line(text, read), in_document(text, read)) << text;
  return in_document(text, read);
}

TEST(JsonValue, UnknownKeysGetTheNearestKnownOne) {
  EXPECT_EQ(in_both(R"({"promt": 1})",
                    [](const JsonValue& top) {
                      top.check_keys({"prompt", "max_tokens"});
                    }),
            "f.json: /promt: unknown key \"promt\", did you mean \"prompt\"?");
}

TEST(JsonValue, UnknownKeysFarFromAllGetNoHint) {
  EXPECT_EQ(in_both(R"({"zzzzzz": 1})",
                    [](const JsonValue& top) {
                      top.check_keys({"prompt", "id"});
                    }),
            "f.json: /zzzzzz: unknown key \"zzzzzz\"");
}

TEST(JsonValue, PointersEscapeSlashesAndTildes) {
  EXPECT_EQ(in_both(R"({"a/b~c": 1})", [](const JsonValue& top) { top.check_keys({"id"}); }),
            "f.json: /a~1b~0c: unknown key \"a/b~c\"");
}

TEST(JsonValue, MessagesAreOneLineWhateverTheKey) {
  EXPECT_EQ(in_both("{\"a\\nb\": 1}", [](const JsonValue& top) { top.check_keys({"id"}); }),
            "f.json: /a\\x0Ab: unknown key \"a\\x0Ab\"");
}

TEST(JsonValue, IntegersAreCheckedForTypeAndRange) {
  for (const auto& [text, found] : {std::pair{"-1", "-1"},
                                    {"11", "11"},
                                    {"2.5", "2.5"},
                                    {"1e30", "1e+30"},
                                    {"18446744073709551615", "18446744073709551615"},
                                    {"\"3\"", "\"3\""},
                                    {"null", "null"},
                                    {"[1]", "an array of 1"},
                                    {"{}", "an object"},
                                    {"true", "true"}})
    EXPECT_EQ(in_both(text,
                      [](const JsonValue& top) {
                        top.int64({0, 10});
                      }),
              std::string("f.json: expected an integer from 0 to 10, found ") + found);
}

TEST(JsonValue, AWholeFractionIsAnIntegerInADocumentButNotInALine) {
  const Read read = [](const JsonValue& top) { EXPECT_EQ(top.int32(), 8); };
  EXPECT_EQ(in_document("8.0", read), "");
  EXPECT_EQ(in_line("8.0", read),
            "f.json: expected an integer from -2147483648 to 2147483647, found 8.0");
}

TEST(JsonValue, IntegersMayHave64Bits) {
  EXPECT_EQ(in_both("[3000000000, 18446744073709551615]",
                    [](const JsonValue& top) {
                      EXPECT_EQ(top[std::size_t{0}].int64(), 3000000000);
                      EXPECT_EQ(top[std::size_t{1}].uint64(), 18446744073709551615U);
                      top[std::size_t{1}].int64();
                    }),
            "f.json: /1: expected an integer from -9223372036854775808 to 9223372036854775807, "
            "found 18446744073709551615");
}

TEST(JsonValue, NumbersHaveARangeAndMayBeWhole) {
  EXPECT_EQ(in_both("[1, 0.5, 1.5]",
                    [](const JsonValue& top) {
                      for (const JsonValue& number : top.elements()) number.number(0, 1);
                    }),
            "f.json: /2: expected a number from 0 to 1, found 1.5");
}

TEST(JsonValue, ABooleanIsNoNumberAndANumberNoBoolean) {
  EXPECT_EQ(in_both("[true, 1]", [](const JsonValue& top) { top[std::size_t{1}].boolean(); }),
            "f.json: /1: expected true or false, found 1");
  EXPECT_THAT(in_both("true", [](const JsonValue& top) { top.int32(); }), HasSubstr("found true"));
}

TEST(JsonValue, RequiredMembersMustBeThere) {
  EXPECT_EQ(in_both(R"({"a": {}})", [](const JsonValue& top) { top.require("a").require("id"); }),
            "f.json: /a: key \"id\" is missing");
  EXPECT_EQ(in_both(R"({"a": {}})", [](const JsonValue& top) { top["a"]["id"].int32(); }),
            "f.json: /a: no member \"id\"");
}

TEST(JsonValue, AnObjectHasNoElementsAndAnArrayNoMembers) {
  EXPECT_EQ(in_both(R"({"a": {"b": 0}})", [](const JsonValue& top) { top["a"].elements(); }),
            "f.json: /a: expected an array, found an object");
  EXPECT_EQ(in_both(R"({"a": [0]})", [](const JsonValue& top) { top["a"].require("b"); }),
            "f.json: /a: expected an object, found an array of 1");
}

TEST(JsonValue, AnIndexBehindTheEndSaysHowManyThereAre) {
  EXPECT_EQ(in_both("[1]", [](const JsonValue& top) { top[std::size_t{1}]; }),
            "f.json: expected more than 1 elements, found 1");
}

TEST(JsonValue, NullIsAMemberForFindAndNoneForFindNonNull) {
  EXPECT_EQ(in_both(R"({"counts": null})",
                    [](const JsonValue& top) {
                      EXPECT_TRUE(top.find("counts").has_value());
                      EXPECT_FALSE(top.find("others").has_value());
                      EXPECT_FALSE(top.has_non_null("counts"));
                      EXPECT_FALSE(top.has_non_null("others"));
                      top["counts"].int32s();
                    }),
            "f.json: /counts: expected an array of integers, found null");
}

TEST(JsonValue, FindSeesNoMembersInWhatIsNoObject) {
  EXPECT_EQ(in_both("[1]",
                    [](const JsonValue& top) {
                      EXPECT_FALSE(top.find("a").has_value());
                      top.find_non_null("a");
                    }),
            "f.json: expected an object, found an array of 1");
}

TEST(JsonValue, NamesTheElementThatIsNoInteger) {
  EXPECT_EQ(in_both(R"({"input": {"seq_lens": [1, "two"]}})",
                    [](const JsonValue& top) { top["input"]["seq_lens"].int32s(); }),
            "f.json: /input/seq_lens/1: expected an integer from -2147483648 to 2147483647, found "
            "\"two\"");
}

TEST(JsonValue, AnArrayMayHaveOneLengthOnly) {
  EXPECT_EQ(in_both("[1, 2]", [](const JsonValue& top) { top.int64s(3); }),
            "f.json: expected an array of 3 integers, found an array of 2");
}

TEST(JsonValue, AppendedIntegersStandBehindOthersAndAFaultNamesItsElement) {
  EXPECT_EQ(in_both("[[2, 3], [4, 99]]",
                    [](const JsonValue& top) {
                      std::vector<std::int32_t> numbers = {1};
                      top[std::size_t{0}].append_int32s({0, 9}, numbers);
                      EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
                      EXPECT_FALSE(top[std::size_t{1}].try_append_int32s({0, 9}, numbers));
                      EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
                      top[std::size_t{1}].append_int32s({0, 9}, numbers);
                    }),
            "f.json: /1/1: expected an integer from 0 to 9, found 99");
}

TEST(JsonValue, AChoiceListsTheNamesAndTheNearestOne) {
  static constexpr std::array<std::string_view, 2> kNames = {"build", "update"};
  const Read read = [](const JsonValue& top) { top.choice(kNames); };
  EXPECT_EQ(in_both(R"("bild")", read),
            "f.json: expected one of build, update, found \"bild\", did you mean \"build\"?");
  EXPECT_EQ(in_both("5", read), "f.json: expected one of build, update, found 5");
}

TEST(JsonValue, OneOfAVectorListsTheNames) {
  const Read read = [](const JsonValue& top) { top.one_of({"build", "update"}); };
  EXPECT_EQ(in_both(R"("bild")", read), "f.json: expected one of build, update, found \"bild\"");
  EXPECT_EQ(in_both("5", read), "f.json: expected a string, found 5");
}

TEST(JsonValue, NamesAreShortAndPrintable) {
  const Read read = [](const JsonValue& top) { top.name(); };
  EXPECT_EQ(in_both(R"("")", read), "f.json: expected 1 to 64 bytes, found 0");
  EXPECT_EQ(in_both(R"("a\tb")", read),
            "f.json: a control character in a name (expected printable text)");
}

TEST(JsonValue, MembersOfADocumentComeByKeyAndThoseOfALineAsTheyStandThere) {
  std::vector<std::string> pointers;
  const Read read = [&](const JsonValue& top) {
    pointers.clear();
    for (const auto& [key, value] : top["ids"].members()) pointers.push_back(value.pointer());
  };
  EXPECT_EQ(in_document(R"({"ids": {"b/c": 2, "a": 1}})", read), "");
  EXPECT_THAT(pointers, ElementsAre("/ids/a", "/ids/b~1c"));
  EXPECT_EQ(in_line(R"({"ids": {"b/c": 2, "a": 1}})", read), "");
  EXPECT_THAT(pointers, ElementsAre("/ids/b~1c", "/ids/a"));
}

TEST(JsonValue, APlaceIsFoundBehindAnythingNested) {
  EXPECT_EQ(in_both(R"([{"a": [[], {}, [1.5, "x"]]}, {"b": [0, {"c": [true, null]}]}, 7])",
                    [](const JsonValue& top) {
                      top[std::size_t{1}]["b"][std::size_t{1}]["c"][std::size_t{1}].int32();
                    }),
            "f.json: /1/b/1/c/1: expected an integer from -2147483648 to 2147483647, found null");
}

TEST(JsonValue, APartOfAnotherDocumentNamesThePlaceInThatOne) {
  EXPECT_EQ(in_both(R"({"a": "x"})",
                    [](const JsonValue& top) {
                      read_json_at("/plan/0", [&] { return top["a"].int32({0, 1}); });
                    }),
            "f.json: /plan/0/a: expected an integer from 0 to 1, found \"x\"");
}

TEST(JsonValue, ReadingReturnsWhatWasRead) {
  const auto json = nlohmann::json::parse(R"({"a": 3})");
  const Result<std::optional<std::int32_t>> read = read_json("f.json", [&] {
    return JsonValue(json).int32_at("a", {0, 9});
  });
  EXPECT_EQ(read.value(), 3);
}

}  // namespace
}  // namespace hybridscope::json_value_test
