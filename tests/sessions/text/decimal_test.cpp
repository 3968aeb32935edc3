#include "sessions/text/number_words.h"

#include <gtest/gtest.h>

namespace hybridscope::decimal_test {
namespace {

TEST(Decimal, FractionsAreExactMillionths) {
  EXPECT_EQ(parse_millionths("5"), 5'000'000);
  EXPECT_EQ(parse_millionths("0.25"), 250'000);
  EXPECT_EQ(parse_millionths("0.1"), 100'000);
  EXPECT_EQ(parse_millionths("19440110.0"), 19'440'110'000'000);
  EXPECT_EQ(parse_millionths("1.0000019"), 1'000'001);
}

TEST(Decimal, AnythingElseIsNone) {
  for (const char* text : {"", ".5", "5.", "-1", "+1", "1e3", " 1", "1 ", "1,5", "0x1", "1.2.3",
                           "1.000000x", "9223372036855", "99999999999999999999"})
    EXPECT_EQ(parse_millionths(text), std::nullopt) << text;
  EXPECT_EQ(parse_millionths("9223372036854.775807"), 9'223'372'036'854'775'807);
}

TEST(Decimal, TextsAreTheShortestThatReadBack) {
  EXPECT_EQ(format_millionths(0), "0");
  EXPECT_EQ(format_millionths(2'500'000), "2.5");
  EXPECT_EQ(format_millionths(1), "0.000001");
  EXPECT_EQ(format_millionths(70'000'000), "70");
}

}  // namespace
}  // namespace hybridscope::decimal_test
