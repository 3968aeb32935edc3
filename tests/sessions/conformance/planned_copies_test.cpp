#include "sessions/conformance/planned_copies.h"

#include <gtest/gtest.h>
#include <vector>

namespace hybridscope::planned_copies_test {
namespace {

const std::vector<std::int32_t> kBlockIds{4, 2, 7};

// 9 blocks of [4 positions, dim 3] in pages of 16 elements, 2 bytes each.
const StateTensor kConv{.shape = {9, 4, 3}, .stride = {16, 3, 1}, .elem_size = 2};
// 9 blocks of [2, 5] in pages of 16 elements, 4 bytes each.
const StateTensor kTemporal{.shape = {9, 2, 5}, .stride = {16, 5, 1}, .elem_size = 4};

CopySpec spec(std::int64_t start, std::int64_t elements, std::int64_t bytes) {
  return {.start_byte_offset = start, .num_elements = elements, .copy_bytes = bytes};
}

TEST(ConvCopySpec, TheSliceStartsAtTheAcceptedPosition) {
  const auto got = get_conv_copy_spec(kConv, {kBlockIds, 1, 3}, ConvStateLayout::SD);
  EXPECT_EQ(got.value(), spec(2 * 32 + 2 * 6, 6, 12));
}

TEST(ConvCopySpec, ASliceBehindTheWindowIsEmptyAndHasNoAddress) {
  const auto got = get_conv_copy_spec(kConv, {kBlockIds, 0, 5}, ConvStateLayout::SD);
  EXPECT_EQ(got.value(), CopySpec{});
}

TEST(ConvCopySpec, ANegativeStartCountsFromTheEndOfTheWindow) {
  const auto got = get_conv_copy_spec(kConv, {kBlockIds, 0, 0}, ConvStateLayout::SD);
  EXPECT_EQ(got.value(), spec(4 * 32 + 3 * 6, 3, 6));
}

TEST(ConvCopySpec, DimFirstCopiesTheWholeBlockOrNothing) {
  const auto whole = get_conv_copy_spec(kConv, {kBlockIds, 2, 1}, ConvStateLayout::DS);
  EXPECT_EQ(whole.value(), spec(7 * 32, 12, 24));
  EXPECT_FALSE(get_conv_copy_spec(kConv, {kBlockIds, 2, 2}, ConvStateLayout::DS).ok());
}

TEST(TemporalCopySpec, TheAcceptedCountSelectsTheColumn) {
  const auto got = get_temporal_copy_spec(kTemporal, {kBlockIds, 0, 3});
  EXPECT_EQ(got.value(), spec(7 * 64, 10, 40));
}

TEST(CopySpec, NegativeColumnsCountFromTheEnd) {
  EXPECT_EQ(get_temporal_copy_spec(kTemporal, {kBlockIds, -1, 1}).value(), spec(7 * 64, 10, 40));
  EXPECT_FALSE(get_temporal_copy_spec(kTemporal, {kBlockIds, -4, 1}).ok());
}

TEST(CopySpec, AColumnBehindTheRowIsAnError) {
  const auto got = get_temporal_copy_spec(kTemporal, {kBlockIds, 1, 3});
  ASSERT_FALSE(got.ok());
  EXPECT_EQ(got.error().message, "column 3 is outside a row of 3 block ids");
}

TEST(CopySpec, ABlockOutsideTheStateIsAnError) {
  const std::vector<std::int32_t> block_ids{9};
  EXPECT_FALSE(get_conv_copy_spec(kConv, {block_ids, 0, 1}, ConvStateLayout::SD).ok());
  EXPECT_FALSE(get_temporal_copy_spec(kTemporal, {block_ids, 0, 1}).ok());
}

}  // namespace

}  // namespace hybridscope::planned_copies_test
