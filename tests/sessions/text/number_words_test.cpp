#include "sessions/text/number_words.h"

#include <gtest/gtest.h>

namespace hybridscope {
namespace {

TEST(NumberWords, NumbersAreGroupedByThousands) {
  EXPECT_EQ(grouped_number(0), "0");
  EXPECT_EQ(grouped_number(999), "999");
  EXPECT_EQ(grouped_number(1000), "1,000");
  EXPECT_EQ(grouped_number(64424509440), "64,424,509,440");
  EXPECT_EQ(grouped_number(-100), "-100");
  EXPECT_EQ(grouped_number(-1000), "-1,000");
}

TEST(NumberWords, OneThingIsSingular) {
  EXPECT_EQ(counted(0, "finding"), "0 findings");
  EXPECT_EQ(counted(1, "finding"), "1 finding");
  EXPECT_EQ(counted(12031, "finding"), "12,031 findings");
}

}  // namespace
}  // namespace hybridscope
