// Sizes and settings of the fused launches that small random cases do not reach.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/fused_align.h"
#include "tests/kernels/cuda/fused_case.h"

namespace hybridscope::test::fused_limits_test {
namespace {

class FusedAlignLimits : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_device(); !why.empty()) GTEST_SKIP() << why;
  }
};

// One temporal state [num_blocks, elements] of 2-byte elements with a given block stride in bytes.
StateLayout temporal_layout(std::int64_t num_blocks, std::int64_t elements,
                            std::int64_t block_stride_bytes) {
  MambaStateTensors tensors;
  tensors.block_size = 4;
  tensors.mamba_group_ids = {0};
  tensors.state_kinds = {StateKind::temporal};
  tensors.layers = {{.group_index = 0,
                     .states = {{.shape = {num_blocks, elements},
                                 .stride = {block_stride_bytes / 2, 1},
                                 .elem_size = 2}}}};
  const std::vector<std::int64_t> strides{2};
  return make_state_layout(tensors, strides).value();
}

// `rows` requests, each of which copies column 1 to column 0 at token 4.
struct CopyingBatch {
  explicit CopyingBatch(std::int32_t rows)
      : num_reqs(rows),
        one(on_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 1))),
        zero(on_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 0))),
        three(on_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 3))),
        out(on_device(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 9))) {}

  PostprocessV1Device inputs(std::span<const std::int32_t* const> tables) const {
    return {.num_reqs = num_reqs,
            .num_accepted_tokens = one.data(),
            .mamba_state_idx = one.data(),
            .num_scheduled_tokens = one.data(),
            .num_computed_tokens = three.data(),
            .num_draft_tokens = zero.data(),
            .block_tables = tables,
            .num_accepted_tokens_out = out.data()};
  }

  std::int32_t num_reqs;
  DeviceBuffer<std::int32_t> one, zero, three, out;
};

std::vector<std::byte> bytes_at(const DeviceBuffer<std::byte>& memory, std::int64_t offset,
                                std::size_t size) {
  std::vector<std::byte> bytes(size);
  EXPECT_EQ(cudaMemcpy(bytes.data(), memory.data() + offset, size, cudaMemcpyDeviceToHost),
            cudaSuccess);
  return bytes;
}

// Blocks 3 GiB apart: block 2 begins at byte 6,442,450,944.
TEST_F(FusedAlignLimits, BlocksMayLieFurtherApartThan2To31Bytes) {
  constexpr std::int64_t kStride = std::int64_t{3} << 30;
  constexpr std::size_t kBytes = 4096;
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total_bytes), cudaSuccess);
  if (free_bytes < static_cast<std::size_t>(3 * kStride)) GTEST_SKIP() << "needs 9 GiB free";
  const auto memory = DeviceBuffer<std::byte>::create(2 * kStride + kBytes).value();
  ASSERT_EQ(cudaMemset(memory.data(), 0, kBytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory.data() + kStride, 1, kBytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(memory.data() + 2 * kStride, 2, kBytes), cudaSuccess);
  const std::vector<std::uintptr_t> base{reinterpret_cast<std::uintptr_t>(memory.data())};
  const auto fused = FusedAlign::create(temporal_layout(3, kBytes / 2, kStride), base).value();
  const auto table = on_device({1, 2});
  const std::int32_t* tables[] = {table.data()};
  const CopyingBatch batch(1);
  ASSERT_TRUE(fused.postprocess(batch.inputs(tables), nullptr).ok());
  const std::vector<std::byte> twos(kBytes, std::byte{2});
  EXPECT_EQ(bytes_at(memory, kStride, kBytes), twos);
  EXPECT_EQ(bytes_at(memory, 0, kBytes), std::vector<std::byte>(kBytes, std::byte{0}));
}

// More requests than a launch takes, and than the y dimension of a grid has.
TEST_F(FusedAlignLimits, SeventyThousandRequestsCopy) {
  constexpr std::int32_t kRows = 70'000;
  constexpr std::int64_t kBytes = 32;
  std::vector<std::byte> host(static_cast<std::size_t>((2 * kRows + 1) * kBytes));
  std::vector<std::int32_t> table;
  for (std::int32_t row = 0; row < kRows; ++row) {
    table.push_back(2 * row + 1);
    table.push_back(2 * row + 2);
    host[static_cast<std::size_t>((2 * row + 2) * kBytes)] = static_cast<std::byte>(row % 251);
    host[static_cast<std::size_t>((2 * row + 2) * kBytes + 1)] = static_cast<std::byte>(row / 251);
  }
  const auto memory = DeviceBuffer<std::byte>::create(std::span<const std::byte>(host)).value();
  const std::vector<std::uintptr_t> base{reinterpret_cast<std::uintptr_t>(memory.data())};
  const auto fused =
      FusedAlign::create(temporal_layout(2 * kRows + 1, kBytes / 2, kBytes), base).value();
  const auto device_table = on_device(table);
  const std::int32_t* tables[] = {device_table.data()};
  const CopyingBatch batch(kRows);
  ASSERT_TRUE(fused.postprocess(batch.inputs(tables), nullptr).ok());
  for (std::int32_t row = 0; row < kRows; ++row)
    std::copy_n(host.begin() + (2 * row + 2) * kBytes, kBytes,
                host.begin() + (2 * row + 1) * kBytes);
  EXPECT_TRUE(bytes_at(memory, 0, host.size()) == host);
  EXPECT_EQ(on_host(batch.out), std::vector<std::int32_t>(kRows, 1));
}

// Captured once, replayed on what the arrays hold then.
TEST_F(FusedAlignLimits, ALaunchIsCapturedInAGraph) {
  constexpr std::int64_t kBytes = 64;
  std::vector<std::byte> host(3 * kBytes, std::byte{0});
  std::fill_n(host.begin() + 2 * kBytes, kBytes, std::byte{7});
  const auto memory = DeviceBuffer<std::byte>::create(std::span<const std::byte>(host)).value();
  const std::vector<std::uintptr_t> base{reinterpret_cast<std::uintptr_t>(memory.data())};
  const auto fused = FusedAlign::create(temporal_layout(3, kBytes / 2, kBytes), base).value();
  const auto table = on_device({1, 2});
  const std::int32_t* tables[] = {table.data()};
  const CopyingBatch batch(1);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  const bool launched = fused.postprocess(batch.inputs(tables), stream).ok();
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_TRUE(launched);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  EXPECT_EQ(bytes_at(memory, kBytes, 1)[0], std::byte{0});
  for (const int value : {7, 8}) {
    ASSERT_EQ(cudaMemset(memory.data() + 2 * kBytes, value, kBytes), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(bytes_at(memory, kBytes, kBytes),
              std::vector<std::byte>(kBytes, static_cast<std::byte>(value)));
  }
  EXPECT_EQ(cudaGraphExecDestroy(executable), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// 2,000 rows are two launches. Every fifth slot ends at token 4, a boundary in column 0, and its
// count of 2 becomes 1; slots below 1,000 have no row and keep theirs. All columns are block 1, so
// that nothing moves.
TEST_F(FusedAlignLimits, CountsOfManySlotsSurviveSeveralLaunches) {
  constexpr std::int32_t kRows = 2000;
  constexpr std::int32_t kSlots = 3000;
  std::vector<std::int32_t> mapping;
  std::vector<std::int32_t> accepted;
  std::vector<std::int32_t> new_computed;
  std::vector<std::int32_t> expected;
  for (std::int32_t row = 0; row < kRows; ++row) mapping.push_back(kSlots - 1 - row);
  for (std::int32_t slot = 0; slot < kSlots; ++slot) {
    const bool at_boundary = slot % 5 == 0;
    accepted.push_back(at_boundary ? 2 : 2 + slot % 2);
    new_computed.push_back(at_boundary ? 4 : 3);
    expected.push_back(at_boundary && slot >= kSlots - kRows ? 1 : accepted.back());
  }
  const auto memory = DeviceBuffer<std::byte>::create(96).value();
  const std::vector<std::uintptr_t> base{reinterpret_cast<std::uintptr_t>(memory.data())};
  const auto fused = FusedAlign::create(temporal_layout(3, 16, 32), base).value();
  const auto table = on_device(std::vector<std::int32_t>(2 * kRows, 1));
  const std::int32_t* tables[] = {table.data()};
  const auto idx_mapping = on_device(mapping);
  const auto counts = on_device(accepted);
  const auto state_idx = on_device(std::vector<std::int32_t>(kSlots, 0));
  const auto computed = on_device(new_computed);
  const auto out = on_device(std::vector<std::int32_t>(kSlots, 77));
  ASSERT_TRUE(fused
                  .postprocess_align({.num_reqs = kRows,
                                      .num_slots = kSlots,
                                      .idx_mapping = idx_mapping.data(),
                                      .num_accepted_tokens = counts.data(),
                                      .state_idx = state_idx.data(),
                                      .new_num_computed_tokens = computed.data(),
                                      .block_tables = tables,
                                      .num_accepted_tokens_out = out.data()},
                                     nullptr)
                  .ok());
  EXPECT_EQ(on_host(out), expected);
}

// A row without a slot: no slot changes.
TEST_F(FusedAlignLimits, TheAdvanceSkipsPaddingRows) {
  const auto mapping = on_device({-1, 1});
  const auto computed = on_device({7, 7});
  const auto query_start_loc = on_device({0, 1, 2});
  const auto state_idx = on_device({0, 0});
  const auto accepted = on_device({3, 3});
  const auto src_col = on_device({9, 9});
  const auto src_off = on_device({9, 9});
  ASSERT_TRUE(launch_align_advance({.num_reqs = 2,
                                    .block_size = 4,
                                    .idx_mapping = mapping.data(),
                                    .num_computed_tokens = computed.data(),
                                    .query_start_loc = query_start_loc.data(),
                                    .state_idx = state_idx.data(),
                                    .num_accepted_tokens = accepted.data(),
                                    .src_col = src_col.data(),
                                    .src_off = src_off.data()},
                                   nullptr)
                  .ok());
  EXPECT_EQ(on_host(state_idx), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(on_host(accepted), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(on_host(src_col), (std::vector<std::int32_t>{9, 0}));
  EXPECT_EQ(on_host(src_off), (std::vector<std::int32_t>{9, 2}));
}

// Four blocks of rows, in another order and one late: each row has a different slot.
TEST_F(FusedAlignLimits, TheAdvanceDoesNotDependOnTheOrderOfItsBlocks) {
  constexpr std::int32_t kRows = 1000;
  std::vector<std::int32_t> mapping;
  std::vector<std::int32_t> computed;
  std::vector<std::int32_t> query_start_loc{0};
  std::vector<std::int32_t> expected;
  for (std::int32_t row = 0; row < kRows; ++row) {
    mapping.push_back(kRows - 1 - row);
    computed.push_back(row % 40);
    query_start_loc.push_back(row + 1);
    expected.push_back(row % 40 / 4);  // the column of token row % 40 + 1
  }
  const auto idx_mapping = on_device(mapping);
  const auto num_computed = on_device(computed);
  const auto starts = on_device(query_start_loc);
  for (const LaunchOrder& order : {LaunchOrder{.multiplier = 3}, LaunchOrder{.delayed_every = 2}}) {
    const auto state_idx = on_device(std::vector<std::int32_t>(kRows, 0));
    const auto accepted = on_device(std::vector<std::int32_t>(kRows, 1));
    const auto src_col = on_device(std::vector<std::int32_t>(kRows, 9));
    const auto src_off = on_device(std::vector<std::int32_t>(kRows, 9));
    ASSERT_TRUE(launch_align_advance({.num_reqs = kRows,
                                      .block_size = 4,
                                      .idx_mapping = idx_mapping.data(),
                                      .num_computed_tokens = num_computed.data(),
                                      .query_start_loc = starts.data(),
                                      .state_idx = state_idx.data(),
                                      .num_accepted_tokens = accepted.data(),
                                      .src_col = src_col.data(),
                                      .src_off = src_off.data()},
                                     nullptr, order)
                    .ok());
    EXPECT_EQ(on_host(state_idx), expected);
    EXPECT_EQ(on_host(src_col), std::vector<std::int32_t>(kRows, 0));
  }
}

TEST_F(FusedAlignLimits, WhatDoesNotFitTheLayoutIsRefused) {
  const std::vector<std::uintptr_t> none;
  const auto created = FusedAlign::create(temporal_layout(3, 16, 32), none);
  ASSERT_FALSE(created.ok());
  EXPECT_EQ(created.error().message, "0 state addresses, expected 1");
  const auto memory = DeviceBuffer<std::byte>::create(96).value();
  const std::vector<std::uintptr_t> base{reinterpret_cast<std::uintptr_t>(memory.data())};
  const auto fused = FusedAlign::create(temporal_layout(3, 16, 32), base).value();
  const CopyingBatch batch(1);
  const Status launched = fused.postprocess(batch.inputs({}), nullptr);
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().message, "0 block tables, expected one per mamba group: 1");
  EXPECT_FALSE(launch_align_advance({.num_reqs = 1, .block_size = 0}, nullptr).ok());
}

}  // namespace
}  // namespace hybridscope::test::fused_limits_test
