#include "kernels/cpu/state_copy_cpu.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "core/base/check.h"

namespace hybridscope::state_copy_cpu_test {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

std::vector<std::byte> bytes_of(const std::vector<int>& values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<int> ints_of(std::span<const std::byte> bytes) {
  std::vector<int> values;
  for (const std::byte byte : bytes) values.push_back(std::to_integer<int>(byte));
  return values;
}

// Known bug 4: W = 4, K = 2, tokens 11..15 in the window, 3 accepted: 13, 14, 15 come first.
TEST(StateCopyCpu, AShiftInsideAWindowMovesEachPositionOnce) {
  auto state = bytes_of({11, 12, 13, 14, 15});
  execute_copy({.src_byte_offset = 2, .dst_byte_offset = 0, .row_bytes = 3}, state);
  EXPECT_THAT(ints_of(state), ElementsAre(13, 14, 15, 14, 15));
}

TEST(StateCopyCpu, AShiftToHigherAddressesReadsTheSourceFirst) {
  auto state = bytes_of({1, 2, 3, 4, 5});
  execute_copy({.src_byte_offset = 0, .dst_byte_offset = 1, .row_bytes = 4}, state);
  EXPECT_THAT(ints_of(state), ElementsAre(1, 1, 2, 3, 4));
}

// DS: two channels of 4 positions each, bias 1.
TEST(StateCopyCpu, ADimFirstWindowShiftsRowByRow) {
  auto state = bytes_of({1, 2, 3, 4, 11, 12, 13, 14});
  execute_copy({.num_rows = 2,
                .src_byte_offset = 1,
                .dst_byte_offset = 0,
                .row_bytes = 3,
                .row_stride_bytes = 4},
               state);
  EXPECT_THAT(ints_of(state), ElementsAre(2, 3, 4, 4, 12, 13, 14, 14));
}

TEST(StateCopyCpu, CopiesOfOnePlanRunInOrder) {
  auto state = bytes_of({1, 2, 3});
  const std::vector<StateCopy> copies{
      {.state_index = 0, .src_byte_offset = 0, .dst_byte_offset = 1, .row_bytes = 1},
      {.state_index = 0, .src_byte_offset = 1, .dst_byte_offset = 2, .row_bytes = 1}};
  const std::vector<std::span<std::byte>> states{state};
  ASSERT_TRUE(execute_copies(copies, states));
  EXPECT_THAT(ints_of(state), ElementsAre(1, 1, 1));
}

// A page of 8 bytes: conv SD [2 positions, dim 2], a temporal state of 3 bytes, 1 byte of padding.
TEST(StateCopyCpu, CopyingEveryStateOfABlockLeavesThePaddingAlone) {
  auto page = bytes_of({1, 2, 3, 4, 5, 6, 7, 90, 11, 12, 13, 14, 15, 16, 17, 91});
  const StateGeometry conv{.block_stride = 8, .inner_size = 2, .elem_size = 1, .conv_width = 2};
  const StateGeometry temporal{.block_stride = 8, .inner_size = 3, .elem_size = 1};
  const StateCopyBlocks blocks{.src_block = 1, .dst_block = 0};
  const std::vector<StateCopy> copies{make_state_copy(0, conv, blocks),
                                      make_state_copy(1, temporal, blocks)};
  const std::vector<std::span<std::byte>> states{page, std::span(page).subspan(4)};
  ASSERT_TRUE(execute_copies(copies, states));
  EXPECT_THAT(ints_of(page),
              ElementsAre(11, 12, 13, 14, 15, 16, 17, 90, 11, 12, 13, 14, 15, 16, 17, 91));
}

TEST(StateCopyCpu, ACopyBehindTheBufferIsOurBug) {
  auto state = bytes_of({1, 2, 3, 4});
  const StateCopy copy{.src_byte_offset = 0, .dst_byte_offset = 2, .row_bytes = 3};
  EXPECT_THROW(execute_copy(copy, state), ContractViolation);
}

// Against a copy through a second buffer, for all kinds of overlap.
TEST(StateCopyCpu, AnyOverlapEqualsACopyThroughASecondBuffer) {
  constexpr std::uint32_t kSeed = 20260629;
  std::mt19937 random(kSeed);
  const auto draw = [&random](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    StateCopy copy{.num_rows = draw(1, 4), .row_bytes = draw(1, 6)};
    copy.row_stride_bytes = copy.num_rows == 1 ? 0 : copy.row_bytes + draw(0, 3);
    copy.src_byte_offset = draw(0, 20);
    copy.dst_byte_offset = draw(0, 20);
    std::vector<int> values(64);
    for (int& value : values) value = draw(0, 255);
    auto state = bytes_of(values);
    std::vector<int> expected = values;
    for (std::int64_t row = 0; row < copy.num_rows; ++row)
      for (std::int64_t i = 0; i < copy.row_bytes; ++i) {
        const std::int64_t at = row * copy.row_stride_bytes + i;
        expected[static_cast<std::size_t>(copy.dst_byte_offset + at)] =
            values[static_cast<std::size_t>(copy.src_byte_offset + at)];
      }
    execute_copy(copy, state);
    ASSERT_THAT(ints_of(state), ElementsAreArray(expected))
        << "seed " << kSeed << ", round " << round;
  }
}

}  // namespace
}  // namespace hybridscope::state_copy_cpu_test
