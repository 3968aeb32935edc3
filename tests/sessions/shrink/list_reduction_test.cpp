#include "sessions/shrink/list_reduction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hybridscope::list_reduction_test {
namespace {

using ::testing::ElementsAre;

// Reduces `list` to the required elements; records each try as "first+count".
std::vector<std::string> reduce(std::string& list, const std::string& has_to_stay) {
  std::vector<std::string> tries;
  const auto drop = [&](std::size_t first, std::size_t count) {
    tries.push_back(std::to_string(first) + "+" + std::to_string(count));
    std::string smaller = list;
    smaller.erase(first, count);
    for (const char c : has_to_stay)
      if (smaller.find(c) == std::string::npos) return false;
    list = smaller;
    return true;
  };
  reduce_list(list.size(), drop, [] { return true; });
  return tries;
}

TEST(ListReduction, AllOfItIsTriedFirst) {
  std::string list = "abcd";
  EXPECT_THAT(reduce(list, ""), ElementsAre("0+4"));
  EXPECT_EQ(list, "");
}

TEST(ListReduction, HalvesThenSingleElementsTheLastFirst) {
  std::string list = "abcd";
  // abcd stays, cd goes; of ab b stays, a goes.
  EXPECT_THAT(reduce(list, "b"), ElementsAre("0+4", "2+2", "0+2", "1+1", "0+1"));
  EXPECT_EQ(list, "b");
}

TEST(ListReduction, EachElementThatCanGoAloneIsGone) {
  std::string list = "abcdefgh";
  reduce(list, "ah");
  EXPECT_EQ(list, "ah");
}

TEST(ListReduction, EndsWhenNothingMoreIsWanted) {
  int tries = 0;
  const auto drop = [&](std::size_t, std::size_t) {
    ++tries;
    return false;
  };
  EXPECT_FALSE(reduce_list(8, drop, [&] { return tries < 3; }));
  EXPECT_EQ(tries, 3);
}

TEST(ListReduction, AnEmptyListHasNothingToTry) {
  EXPECT_FALSE(reduce_list(
      0, [](std::size_t, std::size_t) { return true; }, [] { return true; }));
}

}  // namespace
}  // namespace hybridscope::list_reduction_test
