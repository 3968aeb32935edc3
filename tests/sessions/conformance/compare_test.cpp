#include "sessions/conformance/compare.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hybridscope::compare_test {
namespace {

using nlohmann::json;

// "POINTER: EXPECTED != GOT", "" when equal.
std::string difference(const char* expected, const char* got) {
  const auto found = first_difference(json::parse(expected), json::parse(got));
  return found ? found->pointer + ": " + found->expected + " != " + found->got : "";
}

TEST(Compare, EqualDocumentsHaveNoDifference) {
  EXPECT_EQ(
      difference(R"({"a": [1, {"b": null}], "c": "x"})", R"({"c": "x", "a": [1, {"b": null}]})"),
      "");
}

TEST(Compare, AnElementIsNamedByItsIndex) {
  EXPECT_EQ(difference(R"({"a": [1, [2, 3]]})", R"({"a": [1, [2, 4]]})"), "/a/1/1: 3 != 4");
}

TEST(Compare, MembersMissingAndTooManyAreDifferences) {
  EXPECT_EQ(difference(R"({"a": 1})", "{}"), "/a: 1 != absent");
  EXPECT_EQ(difference("{}", R"({"a": null})"), "/a: absent != null");
}

TEST(Compare, ALengthIsADifferenceOfTheArrayToldWithTheFirstElementThatDiffers) {
  EXPECT_EQ(difference(R"({"a": [1, 2]})", R"({"a": [1]})"),
            "/a: 2 elements, [1] is 2 != 1 element, [1] is absent");
  EXPECT_EQ(difference(R"({"a": []})", R"({"a": [[3], 4]})"),
            "/a: 0 elements, [0] is absent != 2 elements, [0] is [3]");
  EXPECT_EQ(difference(R"({"a": [1, [2], 3]})", R"({"a": [1, [5]]})"),
            "/a: 3 elements, [1] is [2] != 2 elements, [1] is [5]");
  EXPECT_EQ(difference(R"({"data": [null, [null], 3]})", R"({"data": [7, [8]]})"),
            "/data: 3 elements, [2] is 3 != 2 elements, [2] is absent");
}

TEST(Compare, OnlyThatAnErrorHappenedHasToMatch) {
  EXPECT_EQ(difference(R"({"error": "ValueError"})", R"({"error": "block_size is 0", "more": 1})"),
            "");
  EXPECT_EQ(difference(R"({"error": "ValueError"})", R"({"value": 3})"),
            "/error: \"ValueError\" != absent");
  EXPECT_EQ(difference(R"({"value": 3})", R"({"error": "why"})"),
            R"(: {"value":3} != {"error":"why"})");
}

TEST(Compare, AnIdCalledErrorIsNoError) {
  EXPECT_EQ(difference(R"({"error": [1]})", R"({"error": [2]})"), "/error/0: 1 != 2");
}

TEST(Compare, NullInTensorDataMatchesAnything) {
  EXPECT_EQ(difference(R"({"shape": [2, 1], "data": [[null], [3]]})",
                       R"({"shape": [2, 1], "data": [[17], [3]]})"),
            "");
  EXPECT_EQ(difference(R"({"data": [null, null]})", R"({"data": [true, null]})"), "");
}

TEST(Compare, NullInTensorDataIsOneElementAndNoRow) {
  EXPECT_EQ(difference(R"({"data": [null, 1]})", R"({"data": [[5, 6], 1]})"),
            "/data/0: null != [5,6]");
  EXPECT_EQ(difference(R"({"data": [null]})", R"({"data": ["5"]})"), "/data/0: null != \"5\"");
}

TEST(Compare, NullOutsideTensorDataIsAValue) {
  EXPECT_EQ(difference(R"({"new_block_ids": [null, 1]})", R"({"new_block_ids": [7, 1]})"),
            "/new_block_ids/0: null != 7");
  EXPECT_EQ(difference(R"({"data": null})", R"({"data": [1]})"), "/data: null != [1]");
}

TEST(Compare, ANullThatWeMakeDoesNotMatchANumber) {
  EXPECT_EQ(difference(R"({"data": [3]})", R"({"data": [null]})"), "/data/0: 3 != null");
}

TEST(Compare, TypesAreComparedToo) {
  EXPECT_EQ(difference(R"([1])", "[true]"), "/0: 1 != true");
  EXPECT_EQ(difference(R"([1])", "[1.0]"), "/0: 1 != 1.0");
  EXPECT_EQ(difference(R"([-1])", "[18446744073709551615]"), "/0: -1 != 18446744073709551615");
  EXPECT_EQ(difference(R"([[]])", "[{}]"), "/0: [] != {}");
}

TEST(Compare, KeysAreEscapedAsPointersWant) {
  EXPECT_EQ(difference(R"({"a/b": 1})", R"({"a/b": 2})"), "/a~1b: 1 != 2");
}

}  // namespace
}  // namespace hybridscope::compare_test
