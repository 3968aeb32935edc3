// The decisions, executed on states that name the tokens they hold, keep their invariant
// (semantics: state-between-steps) and leave S(p * B) in column p - 1 for every boundary that was
// passed.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/state/copy_decision.h"
#include "core/state/mode_copies.h"
#include "core/state/state_copy.h"
#include "core/state/state_memory.h"

namespace hybridscope::copy_provenance_test {
namespace {

constexpr std::int32_t kConvHistory = 3;  // W - 1
constexpr std::uint32_t kSeed = 66;

// One column: the temporal state is the number of tokens it has folded, a conv position the number
// of its token (1-based; 0 and less: before the first).
struct Column {
  std::int32_t temporal = -1000;
  std::vector<std::int32_t> conv;
};

class NamedStates {
 public:
  NamedStates(std::int32_t num_columns, std::int32_t num_spec)
      : columns_(static_cast<std::size_t>(num_columns),
                 Column{-1000, std::vector<std::int32_t>(
                                   static_cast<std::size_t>(kConvHistory + num_spec), -1000)}) {}

  Column& at(std::int32_t column) { return columns_.at(static_cast<std::size_t>(column)); }

  void copy(const StateCopyDecision& decision) {
    if (!decision.copies()) return;
    at(decision.dst_col).temporal = at(decision.src_col + decision.accept_token_bias).temporal;
    const std::vector<std::int32_t> source = at(decision.src_col).conv;
    std::copy(source.begin() + decision.accept_token_bias, source.end(),
              at(decision.dst_col).conv.begin());
  }

  // Does reading column `col` with `accepted` give exactly S(computed)?
  bool holds(std::int32_t col, std::int32_t accepted, std::int32_t computed) {
    if (at(col + accepted - 1).temporal != computed) return false;
    for (std::int32_t i = 0; i < kConvHistory; ++i)
      if (at(col).conv[static_cast<std::size_t>(accepted - 1 + i)] !=
          computed - kConvHistory + 1 + i)
        return false;
    return true;
  }

  // A row that continues S(computed) by `query` tokens from column `col` on.
  void verify_row(std::int32_t col, std::int32_t computed, std::int32_t query) {
    for (std::int32_t t = 0; t < query; ++t) at(col + t).temporal = computed + t + 1;
    for (std::int32_t i = 0; i < kConvHistory - 1 + query; ++i)
      at(col).conv[static_cast<std::size_t>(i)] = computed - kConvHistory + 2 + i;
  }

  void prefill_row(std::int32_t col, std::int32_t end) {
    at(col).temporal = end;
    for (std::int32_t i = 0; i < kConvHistory; ++i)
      at(col).conv[static_cast<std::size_t>(i)] = end - kConvHistory + 1 + i;
  }

 private:
  std::vector<Column> columns_;
};

struct Scenario {
  std::int32_t block_size = 8;
  std::int32_t num_spec = 0;
  std::int32_t prompt = 0;
};

class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::int32_t operator()(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(random_);
  }

 private:
  std::mt19937 random_;
};

TEST(CopyProvenance, AlignKeepsTheRunningStateAndEveryBoundary) {
  Draw draw(kSeed);
  for (int round = 0; round < 500; ++round) {
    const Scenario s{draw(4, 9), draw(1, 3), draw(1, 40)};
    NamedStates states(60, s.num_spec);
    std::int32_t computed = s.prompt;
    std::int32_t column = cdiv(s.prompt, s.block_size) - 1;
    std::int32_t accepted = 1;
    states.prefill_row(column, s.prompt);
    for (int step = 0; step < 25; ++step) {
      const std::int32_t drafts = draw(0, s.num_spec);
      const StateCopyDecision before = decide_preprocess_v1({.has_mamba_state_idx = true,
                                                             .mamba_state_idx = column,
                                                             .num_computed_tokens = computed,
                                                             .num_scheduled_tokens = 1 + drafts,
                                                             .num_accepted_tokens = accepted,
                                                             .block_size = s.block_size});
      states.copy(before);
      column = before.dst_col;
      accepted = before.num_accepted_tokens_after();
      ASSERT_TRUE(states.holds(column, accepted, computed)) << "seed " << kSeed << " " << round;
      states.verify_row(column, computed, 1 + drafts);
      accepted = draw(1, 1 + drafts);
      const StateCopyDecision after = decide_postprocess_v1({.num_accepted_tokens = accepted,
                                                             .mamba_state_idx = column,
                                                             .num_scheduled_tokens = 1 + drafts,
                                                             .num_computed_tokens = computed,
                                                             .num_draft_tokens = drafts,
                                                             .block_size = s.block_size});
      const std::int32_t old = computed;
      computed += accepted;
      states.copy(after);
      accepted = after.num_accepted_tokens_after();
      const std::int32_t boundary = computed / s.block_size;  // the last one at or below computed
      if (boundary == old / s.block_size) continue;
      ASSERT_TRUE(states.holds(boundary - 1, 1, boundary * s.block_size))
          << "seed " << kSeed << " " << round;
    }
  }
}

TEST(CopyProvenance, AllModeWithBoundaryCopiesKeepsTheRunningStateAndEveryBoundary) {
  Draw draw(kSeed + 1);
  for (int round = 0; round < 500; ++round) {
    const Scenario s{draw(4, 9), draw(1, 3), draw(1, 40)};
    NamedStates states(60, s.num_spec);
    std::int32_t computed = s.prompt;
    std::int32_t source = cdiv(s.prompt, s.block_size) - 1;  // last scheduled column
    std::int32_t accepted = 1;
    states.prefill_row(source, s.prompt);
    for (int step = 0; step < 25; ++step) {
      const std::int32_t query = draw(1, 1 + s.num_spec);
      ASSERT_TRUE(states.holds(source, accepted, computed)) << "seed " << kSeed + 1 << " " << round;
      source = (computed + query - 1) / s.block_size;
      states.verify_row(source, computed, query);
      accepted = draw(1, query);
      const std::int32_t count = accepted;
      std::vector<StateCopyDecision> decisions;
      accepted = decide_all_mode_boundary_copies({.num_computed_tokens = computed,
                                                  .num_accepted_tokens = count,
                                                  .last_scheduled_col = source,
                                                  .block_size = s.block_size},
                                                 decisions);
      for (const StateCopyDecision& decision : decisions) {
        states.copy(decision);
        ASSERT_TRUE(states.holds(decision.dst_col, 1, decision.aligned_new_computed))
            << "seed " << kSeed + 1 << " " << round;
      }
      computed += count;
    }
  }
}

// One layer, conv [positions 5, dim 3] and temporal [4], bfloat16, pages of 32 elements.
MambaStateTensors one_layer(ConvStateLayout layout) {
  const StateTensor conv = layout == ConvStateLayout::SD ? StateTensor{{8, 5, 3}, {32, 3, 1}, 2}
                                                         : StateTensor{{8, 3, 5}, {32, 5, 1}, 2};
  return {.conv_state_layout = layout,
          .block_size = 4,
          .mamba_group_ids = {1},
          .state_kinds = {StateKind::conv, StateKind::temporal},
          .layers = {{.group_index = 0, .states = {conv, {{8, 4}, {32, 1}, 2}}}}};
}

StateLayout layout_of(const MambaStateTensors& tensors) {
  const std::int64_t strides[] = {6};
  return make_state_layout(tensors, strides).value();
}

TEST(StateCopy, AConvWindowInSdIsOneRegionFromTheBias) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  const StateCopy copy = make_state_copy(0, layout.geometry(0),
                                         {.src_block = 3, .dst_block = 2, .accept_token_bias = 2});
  EXPECT_EQ(copy, (StateCopy{.state_index = 0,
                             .num_rows = 1,
                             .src_byte_offset = 3 * 64 + 2 * 6,
                             .dst_byte_offset = 2 * 64,
                             .row_bytes = 3 * 6,
                             .row_stride_bytes = 0}));
}

TEST(StateCopy, AConvWindowInDsShiftsInEveryRow) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::DS));
  const StateCopy copy = make_state_copy(0, layout.geometry(0),
                                         {.src_block = 3, .dst_block = 2, .accept_token_bias = 2});
  EXPECT_EQ(copy, (StateCopy{.state_index = 0,
                             .num_rows = 3,
                             .src_byte_offset = 3 * 64 + 2 * 2,
                             .dst_byte_offset = 2 * 64,
                             .row_bytes = 3 * 2,
                             .row_stride_bytes = 10}));
}

TEST(StateCopy, ATemporalStateIsCopiedWithoutThePagesPadding) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  const StateCopy copy = make_state_copy(1, layout.geometry(1),
                                         {.src_block = 3, .dst_block = 2, .accept_token_bias = 2});
  EXPECT_EQ(copy.src_byte_offset, 192);
  EXPECT_EQ(copy.row_bytes, 8);
}

TEST(StateCopy, OnlyTemporalStatesComeFromTheBiasedColumn) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  const StateCopyOp op{.conv_src_block = 4, .temporal_src_block = 6, .dst_block = 3};
  EXPECT_EQ(make_copy_of_state(0, layout.geometry(0), op).copy.src_byte_offset, 4 * 64);
  EXPECT_EQ(make_copy_of_state(1, layout.geometry(1), op).copy.src_byte_offset, 6 * 64);
}

TEST(StateCopy, ABiasOfTheWholeWindowLeavesNothing) {
  const StateLayout layout = layout_of(one_layer(ConvStateLayout::SD));
  EXPECT_EQ(make_state_copy(0, layout.geometry(0), {.accept_token_bias = 6}).row_bytes, 0);
}

// Known bug 42c.
TEST(StateCopy, OffsetsAreSixtyFourBit) {
  const StateGeometry state{.block_stride = 20'000'000, .inner_size = 8, .elem_size = 2};
  EXPECT_EQ(make_state_copy(0, state, {.src_block = 1000}).src_byte_offset, 20'000'000'000);
}

TEST(StateLayout, AnUnknownCopyFunctionIsRefused) {
  MambaStateTensors tensors = one_layer(ConvStateLayout::SD);
  tensors.state_kinds[0] = std::nullopt;
  const std::int64_t strides[] = {6};
  EXPECT_FALSE(make_state_layout(tensors, strides).ok());
}

TEST(StateLayout, AConvStateWithTwoDimensionsIsRefused) {
  MambaStateTensors tensors = one_layer(ConvStateLayout::SD);
  tensors.layers[0].states[0] = {{8, 15}, {32, 1}, 2};
  const std::int64_t strides[] = {6};
  const auto layout = make_state_layout(tensors, strides);
  ASSERT_FALSE(layout.ok());
  EXPECT_EQ(layout.error().message, "layer 0, state 0: a conv state has 3 dimensions, this one 2");
}

TEST(StateLayout, OneTableForEachMambaGroupWithOneStrideIsNeeded) {
  const MambaStateTensors tensors = one_layer(ConvStateLayout::SD);
  const std::int64_t two[] = {6, 6};
  EXPECT_FALSE(make_state_layout(tensors, two).ok());
  EXPECT_FALSE(make_state_layout(tensors, {}).ok());
}

}  // namespace

}  // namespace hybridscope::copy_provenance_test
