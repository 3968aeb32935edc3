#include "kernels/copy_list.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "core/base/check.h"

namespace hybridscope::copy_list_test {
namespace {

class CopiesMeet : public ::testing::Test {
 protected:
  ListedCopy copy(std::int64_t from, std::int64_t to, std::int64_t bytes) {
    return {.from = memory_.data() + from, .to = memory_.data() + to, .row_bytes = bytes};
  }
  std::array<std::byte, 256> memory_{};
};

TEST_F(CopiesMeet, RegionsSideBySideDoNot) {
  EXPECT_FALSE(copies_meet(std::vector{copy(0, 8, 8), copy(16, 24, 8), copy(32, 40, 8)}));
}

TEST_F(CopiesMeet, TwoThatReadTheSameBytesDoNot) {
  EXPECT_FALSE(copies_meet(std::vector{copy(0, 8, 8), copy(0, 16, 8)}));
}

TEST_F(CopiesMeet, OneThatMeetsItselfDoesNot) {
  EXPECT_FALSE(copies_meet(std::vector{copy(0, 2, 8), copy(16, 24, 8)}));
}

TEST_F(CopiesMeet, TwoThatWriteTheSameByteDo) {
  EXPECT_TRUE(copies_meet(std::vector{copy(0, 100, 8), copy(50, 107, 8)}));
}

TEST_F(CopiesMeet, OneThatReadsWhatAnotherWritesDoes) {
  EXPECT_TRUE(copies_meet(std::vector{copy(0, 100, 8), copy(100, 200, 8)}));
  EXPECT_TRUE(copies_meet(std::vector{copy(100, 200, 8), copy(0, 100, 8)}));
}

TEST_F(CopiesMeet, RowsCountFromTheFirstByteToTheLast) {
  ListedCopy rows = copy(0, 100, 4);
  rows.num_rows = 3;
  rows.row_stride_bytes = 10;
  EXPECT_TRUE(copies_meet(std::vector{rows, copy(200, 120, 4)}));
  EXPECT_FALSE(copies_meet(std::vector{rows, copy(200, 124, 4)}));
}

// Against all pairs, a region that many others lie in among them.
TEST_F(CopiesMeet, AgreesWithLookingAtEveryPair) {
  constexpr std::uint32_t kSeed = 20263;
  std::mt19937 random(kSeed);
  const auto draw = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  const auto overlap = [](const std::byte* a, std::int64_t a_bytes, const std::byte* b,
                          std::int64_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; };
  int meeting = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<ListedCopy> copies;
    for (int i = draw(2, 5); i > 0; --i)
      copies.push_back(
          copy(draw(0, 200), draw(0, 200), draw(1, 4) == 4 ? draw(1, 56) : draw(1, 8)));
    bool expected = false;
    for (std::size_t i = 0; i < copies.size(); ++i)
      for (std::size_t j = 0; j < copies.size(); ++j) {
        if (i == j) continue;
        const ListedCopy& writer = copies[i];
        const ListedCopy& other = copies[j];
        expected = expected || overlap(writer.to, writer.row_bytes, other.to, other.row_bytes) ||
                   overlap(writer.to, writer.row_bytes, other.from, other.row_bytes);
      }
    meeting += expected ? 1 : 0;
    ASSERT_EQ(copies_meet(copies), expected) << "seed " << kSeed << ", round " << round;
  }
  EXPECT_GT(meeting, 400);
  EXPECT_LT(meeting, 3600);
}

TEST(ListCopies, PutsTheAddressesInAndLeavesOutCopiesOfNothing) {
  std::array<std::byte, 64> memory{};
  const std::array<std::byte*, 2> bases{memory.data(), memory.data() + 32};
  const std::vector<StateCopy> copies{
      {.state_index = 0, .row_bytes = 0},
      {.state_index = 1, .src_byte_offset = 4, .dst_byte_offset = 8, .row_bytes = 2}};
  const std::vector<ListedCopy> list = list_copies(copies, bases);
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].from, memory.data() + 36);
  EXPECT_EQ(list[0].to, memory.data() + 40);
  EXPECT_EQ(list[0].row_bytes, 2);
}

TEST(ListCopies, AStateThatIsNotThereIsOurBug) {
  const std::array<std::byte*, 1> bases{nullptr};
  const std::vector<StateCopy> copies{{.state_index = 1, .row_bytes = 2}};
  EXPECT_THROW(list_copies(copies, bases), ContractViolation);
}

}  // namespace
}  // namespace hybridscope::copy_list_test
