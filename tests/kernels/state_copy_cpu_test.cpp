#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <random>

#include "core/base/fingerprint.h"
#include "core/base/result.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "kernels/cpu/state_copy_cpu.h"
#include "tests/kernels/hash_case.h"

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

std::uint64_t number_at(const std::byte* from, std::int64_t size) {
  std::uint64_t number = 0;
  for (std::int64_t i = size - 1; i >= 0; --i)
    number = number * 256 + std::to_integer<std::uint64_t>(from[i]);
  return number;
}

// The sums by their definition, byte by byte.
std::vector<std::uint64_t> naive_sums(const HashedStates& states,
                                      const std::vector<std::int32_t>& blocks) {
  const auto width = static_cast<std::size_t>(num_sums(states));
  std::vector<std::uint64_t> sums(blocks.size() * width);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i] <= 0 || blocks[i] >= states.num_blocks) continue;
    for (const HashView& view : states.views) {
      const std::byte* state = view.data + blocks[i] * view.block_stride;
      const std::uint64_t first = static_cast<std::uint64_t>(view.ordinal) << 40;
      for (std::int64_t at = 0; view.num_positions == 0 && at < view.num_bytes; at += 8)
        sums[i * width] +=
            mix(first + static_cast<std::uint64_t>(at / 8),
                number_at(state + at, std::min<std::int64_t>(8, view.num_bytes - at)));
      for (std::int64_t p = 0; p < view.num_positions; ++p)
        for (std::int64_t c = 0; c < view.num_channels; ++c)
          sums[i * width + 1 + static_cast<std::size_t>(p)] +=
              mix(first + static_cast<std::uint64_t>(c),
                  number_at(
                      state + (p * view.position_stride + c * view.channel_stride) * view.elem_size,
                      view.elem_size));
    }
  }
  return sums;
}

std::vector<std::uint64_t> sums_of(const HashedStates& states,
                                   const std::vector<std::int32_t>& blocks) {
  std::vector<std::uint64_t> sums(blocks.size() * static_cast<std::size_t>(num_sums(states)), 7);
  hash_states(states, blocks, sums);
  return sums;
}

TEST(StateHash, RandomStatesHaveTheSumsOfTheDefinition) {
  std::mt19937_64 random(20261);
  const test::Draw draw = [&](std::int32_t least, std::int32_t most) {
    return std::uniform_int_distribution<std::int32_t>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const test::HashCase made = test::random_hash_case(draw, random);
    const HashedStates states = made.states_at(made.memory.data());
    ASSERT_TRUE(check_hashed(states));
    ASSERT_EQ(sums_of(states, made.blocks), naive_sums(states, made.blocks));
  }
}

// The numbers are written in traces: they never change.
TEST(StateHash, TheNumbersAreFixed) {
  std::vector<std::byte> memory(32);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i);
  const HashedStates states{
      .views = {{.data = memory.data(), .block_stride = 16, .num_bytes = 11, .ordinal = 0},
                {.data = memory.data() + 12,
                 .block_stride = 16,
                 .num_positions = 2,
                 .num_channels = 1,
                 .position_stride = 1,
                 .channel_stride = 1,
                 .elem_size = 2,
                 .ordinal = 1}},
      .num_blocks = 2};
  // mix(0, 0x1716151413121110) + mix(1, 0x1A1918), mix(1 << 40, 0x1D1C), mix(1 << 40, 0x1F1E)
  EXPECT_THAT(sums_of(states, {1}),
              ElementsAre(0x63d3074f469ddcb6U, 0x45ab80a804b59bb4U, 0x9d1d7fafaaf84a3aU));
}

TEST(StateHash, AShiftedWindowKeepsItsNumbers) {
  std::vector<std::byte> memory(24);
  for (std::size_t i = 12; i < memory.size(); ++i) memory[i] = static_cast<std::byte>(i * i);
  const HashedStates states{.views = {{.data = memory.data(),
                                       .block_stride = 12,
                                       .num_positions = 3,
                                       .num_channels = 2,
                                       .position_stride = 2,
                                       .channel_stride = 1,
                                       .elem_size = 2}},
                            .num_blocks = 2};
  const std::vector<std::uint64_t> before = sums_of(states, {1});
  std::copy_n(memory.begin() + 16, 8, memory.begin() + 12);
  const std::vector<std::uint64_t> after = sums_of(states, {1});
  EXPECT_THAT(after, ElementsAre(0, before[2], before[3], before[3]));
}

TEST(StateHash, BlocksThatAreNoneHaveZeros) {
  const std::vector<std::byte> memory(32, std::byte{1});
  const HashedStates states{.views = {{.data = memory.data(), .block_stride = 16, .num_bytes = 16}},
                            .num_blocks = 2};
  EXPECT_THAT(sums_of(states, {0, -1, 2}), ElementsAre(0, 0, 0));
}

TEST(StateHash, WhatCannotBeHashedIsRefused) {
  const std::byte byte{};
  HashView view{.data = &byte, .num_positions = 1, .num_channels = 1, .elem_size = 8, .ordinal = 3};
  EXPECT_EQ(check_hashed({.views = {view}}).error().message,
            "state 3: elements of 8 bytes, expected 1, 2 or 4");
  view.num_channels = -1;
  EXPECT_EQ(check_hashed({.views = {view}}).error().message, "state 3: a size is negative");
  EXPECT_EQ(check_hashed({.views = {{}}}).error().message, "state 0: no address");
}

TEST(AvailableMemory, IsSomeOfWhatTheMachineHas) {
  const std::int64_t machine =
      static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  EXPECT_GT(available_memory_bytes(), 0);
  EXPECT_LE(available_memory_bytes(), machine);
}

}  // namespace

}  // namespace hybridscope::state_copy_cpu_test
