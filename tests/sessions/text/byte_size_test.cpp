#include "sessions/text/number_words.h"

#include <gtest/gtest.h>

namespace hybridscope::byte_size_test {
namespace {

TEST(ByteSize, UnitsWithAnIArePowersOf1024) {
  EXPECT_EQ(parse_byte_size("60GiB").value(), 64424509440);
  EXPECT_EQ(parse_byte_size("512MiB").value(), 536870912);
  EXPECT_EQ(parse_byte_size("3KiB").value(), 3072);
  EXPECT_EQ(parse_byte_size("1TiB").value(), 1099511627776);
}

TEST(ByteSize, UnitsWithoutAnIArePowersOf1000) {
  EXPECT_EQ(parse_byte_size("80GB").value(), 80000000000);
  EXPECT_EQ(parse_byte_size("2kB").value(), 2000);
  EXPECT_EQ(parse_byte_size("5TB").value(), 5000000000000);
}

TEST(ByteSize, APlainNumberIsBytes) {
  EXPECT_EQ(parse_byte_size("4096").value(), 4096);
  EXPECT_EQ(parse_byte_size("7 B").value(), 7);
  EXPECT_EQ(parse_byte_size("0").value(), 0);
}

TEST(ByteSize, FractionsAreExactAndCutDown) {
  EXPECT_EQ(parse_byte_size("1.5GiB").value(), 1610612736);
  EXPECT_EQ(parse_byte_size("0.1KiB").value(), 102);
  EXPECT_EQ(parse_byte_size("1.999B").value(), 1);
}

TEST(ByteSize, CaseAndASpaceDoNotMatter) {
  EXPECT_EQ(parse_byte_size("60 gib").value(), 64424509440);
  EXPECT_EQ(parse_byte_size("60GIB").value(), 64424509440);
}

TEST(ByteSize, TheLargestValueIsJustBelow2To63) {
  EXPECT_EQ(parse_byte_size("9223372036854775807").value(), 9223372036854775807);
  EXPECT_FALSE(parse_byte_size("9223372036854775808").ok());
  EXPECT_FALSE(parse_byte_size("8388608TiB").ok());
  EXPECT_EQ(parse_byte_size("8388607.999999TiB").value(), 9223372036853676296);
}

TEST(ByteSize, OtherTextsAreErrorsThatShowTheText) {
  for (const char* text : {"", "GiB", "-5", "1e9", "60GiBs", "60 GiB ", "1.GiB", ".5GiB", "0x10",
                           "1.1234567GiB", "12345678901234567890", "6 0GiB", "60Gi"})
    EXPECT_FALSE(parse_byte_size(text).ok()) << text;
  EXPECT_EQ(parse_byte_size("60Gi").error().message,
            "\"60Gi\" is not a byte size (expected a number with a unit such as 60GiB, 512MiB or "
            "4096)");
}

TEST(ByteSize, FormattingPicksTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_byte_size(64424509440), "60GiB");
  EXPECT_EQ(format_byte_size(1610612736), "1536MiB");
  EXPECT_EQ(format_byte_size(1099511627776), "1TiB");
  EXPECT_EQ(format_byte_size(4097), "4097");
  EXPECT_EQ(format_byte_size(0), "0");
}

TEST(ByteSize, WhatIsFormattedReadsBack) {
  for (std::int64_t bytes = 1; bytes > 0 && bytes < (std::int64_t{1} << 61);
       bytes = bytes * 3 + 1024)
    EXPECT_EQ(parse_byte_size(format_byte_size(bytes)).value(), bytes);
}

}  // namespace
}  // namespace hybridscope::byte_size_test
