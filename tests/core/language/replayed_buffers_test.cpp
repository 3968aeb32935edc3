// What replayed graphs read: the arrays of their step, or those that an earlier build left.
#include "core/language/replayed_buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string_view>
#include <variant>
#include <vector>

namespace hybridscope::replayed_buffers_test {
namespace {

using testing::ElementsAre;

constexpr std::array<std::string_view, 1> kMambaArrays = {"state_indices_tensor_d"};
constexpr std::array<std::string_view, 2> kGdnArrays = {"non_spec_state_indices_tensor",
                                                        "non_spec_query_start_loc"};

// A full graph of two rows, in step `step`.
StepTrace replay(std::int64_t step) {
  StepTrace trace;
  trace.step = step;
  trace.graph = {.runtime_mode = CUDAGraphMode::full, .num_tokens_padded = 2, .num_reqs_padded = 2};
  return trace;
}

GroupTrace group_of(const BuilderMetadata& metadata, std::int64_t written_in,
                    std::span<const std::string_view> arrays) {
  GroupTrace group;
  group.is_mamba = true;
  group.metadata = metadata;
  group.persistent_buffers_step = written_in;
  group.replayed_arrays = arrays;
  return group;
}

std::vector<std::int32_t> values_of(const TensorView<std::int32_t>& view) {
  return {view.data, view.data + view.size()};
}

const std::vector<std::int32_t> kBlocks = {7, 4};

MambaMetadata decodes() {
  return {.num_decodes = 2,
          .num_decode_tokens = 2,
          .state_indices_tensor_d = matrix_view(kBlocks.data(), 2, 1)};
}
MambaMetadata prefill() { return {.num_prefills = 1, .num_prefill_tokens = 2}; }

TEST(ReplayedBuffers, AGraphReadsWhatItsStepHasWritten) {
  ReplayedBuffers buffers;
  EXPECT_FALSE(buffers.read(replay(1), group_of(decodes(), 1, kMambaArrays)));
}

TEST(ReplayedBuffers, WithoutAFullGraphTheMetadataIsRead) {
  ReplayedBuffers buffers;
  StepTrace trace = replay(1);
  trace.graph.runtime_mode = CUDAGraphMode::piecewise;
  EXPECT_FALSE(buffers.read(trace, group_of(prefill(), 0, kMambaArrays)));
}

// Step 2 has a prompt row, whose build writes no decode arrays: its graph runs the decodes of step
// 1 again.
TEST(ReplayedBuffers, AGraphReadsWhatAnEarlierBuildLeft) {
  ReplayedBuffers buffers;
  (void)buffers.read(replay(1), group_of(decodes(), 1, kMambaArrays));
  const auto read = buffers.read(replay(2), group_of(prefill(), 1, kMambaArrays));
  ASSERT_TRUE(read);
  const auto& metadata = std::get<MambaMetadata>(*read);
  EXPECT_EQ(metadata.num_prefills, 0);
  EXPECT_EQ(metadata.num_decodes, 2);
  EXPECT_THAT(values_of(metadata.state_indices_tensor_d), ElementsAre(7, 4));
}

TEST(ReplayedBuffers, WhatNoBuildHasWrittenIsNoBlock) {
  ReplayedBuffers buffers;
  const auto read = buffers.read(replay(1), group_of(prefill(), 0, kMambaArrays));
  ASSERT_TRUE(read);
  EXPECT_THAT(values_of(std::get<MambaMetadata>(*read).state_indices_tensor_d),
              ElementsAre(-1, -1));
}

// A group that takes over another one's metadata writes its own state indices only.
TEST(ReplayedBuffers, ReusedMetadataBringsNewBlocksAlone) {
  constexpr std::array<std::string_view, 3> kAll = {
      "state_indices_tensor_d", "block_idx_last_scheduled_token", "block_idx_last_computed_token"};
  ReplayedBuffers buffers;
  const std::vector<std::int32_t> old_columns = {3, 3};
  MambaMetadata before = decodes();
  before.block_idx_last_scheduled_token = vector_view(old_columns.data(), 2);
  before.block_idx_last_computed_token = vector_view(old_columns.data(), 2);
  (void)buffers.read(replay(1), group_of(before, 1, kAll));
  const std::vector<std::int32_t> blocks = {8, 9};
  const std::vector<std::int32_t> columns = {5, 5};
  MambaMetadata now = decodes();
  now.state_indices_tensor_d = matrix_view(blocks.data(), 2, 1);
  now.block_idx_last_scheduled_token = vector_view(columns.data(), 2);
  GroupTrace group = group_of(now, 1, kAll);
  group.reused_metadata = true;
  const auto read = buffers.read(replay(2), group);
  ASSERT_TRUE(read);
  const auto& metadata = std::get<MambaMetadata>(*read);
  EXPECT_THAT(values_of(metadata.state_indices_tensor_d), ElementsAre(8, 9));
  EXPECT_THAT(values_of(metadata.block_idx_last_scheduled_token), ElementsAre(3, 3));
}

TEST(ReplayedBuffers, GdnGraphsReadTheirOffsetsToo) {
  ReplayedBuffers buffers;
  const std::vector<std::int32_t> starts = {0, 1, 2};
  const GdnMetadata written{.num_decodes = 2,
                            .non_spec_query_start_loc = vector_view(starts.data(), 3),
                            .non_spec_state_indices_tensor = vector_view(kBlocks.data(), 2)};
  (void)buffers.read(replay(1), group_of(written, 1, kGdnArrays));
  const auto read =
      buffers.read(replay(2), group_of(GdnMetadata{.num_prefills = 1}, 1, kGdnArrays));
  ASSERT_TRUE(read);
  const auto& metadata = std::get<GdnMetadata>(*read);
  EXPECT_EQ(metadata.num_decodes, 2);
  EXPECT_THAT(values_of(metadata.non_spec_state_indices_tensor), ElementsAre(7, 4));
  EXPECT_THAT(values_of(metadata.non_spec_query_start_loc), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace hybridscope::replayed_buffers_test
