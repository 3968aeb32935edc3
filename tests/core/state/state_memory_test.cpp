#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/model/model_layout.h"
#include "core/model/model_presets.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "core/state/state_ops.h"

namespace hybridscope::state_memory_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;

KVCacheConfig config_of(const std::string& model, const KVCacheSettings& settings) {
  return build_kv_cache_config(model_preset(model).value(), settings).value().kv_cache_config;
}

KVCacheSettings align(std::int64_t num_blocks, std::int64_t num_speculative_tokens) {
  return {.mamba_cache_mode = MambaCacheMode::align,
          .num_speculative_tokens = num_speculative_tokens,
          .num_gpu_blocks_override = num_blocks};
}

// 16 blocks of 4 tokens.
KVCacheSettings tiny(std::int64_t num_speculative_tokens) {
  KVCacheSettings settings = align(16, num_speculative_tokens);
  settings.block_size = 4;
  return settings;
}

// Two mamba groups of 3 and 2 layers; a page of 64 bytes holds a conv window of 3 positions with 4
// channels (24 bytes) and a recurrent state of 2 x 4 (32 bytes).
KVCacheConfig two_groups() {
  const MambaSpec spec{.block_size = 8,
                       .states = {{StateKind::conv, {3, 4}, Dtype::bfloat16},
                                  {StateKind::temporal, {2, 4}, Dtype::float32}},
                       .page_size_bytes = 64};
  return {.num_blocks = 5,
          .groups = {{.spec = FullAttentionSpec{8, 64}, .layers = {3, 7}},
                     {.spec = spec, .layers = {0, 1, 2}},
                     {.spec = spec, .layers = {4, 5}}}};
}

MambaSpec& spec_of(KVCacheConfig& config, std::size_t group) {
  return std::get<MambaSpec>(config.groups[group].spec);
}

std::string error_of(const KVCacheConfig& config, const StateMemoryOptions& options = {}) {
  const auto memory = make_state_memory(config, options);
  return memory.ok() ? "" : memory.error().message;
}

// Conv window 3 x 32 bfloat16 = 192 bytes, state 2 x 8 x 8 bfloat16 = 256 bytes; a page of 4 tokens
// of 2 KV heads of 64 is 2,048 bytes.
TEST(StateMemory, OfTinyMamba2) {
  const StateMemory memory = make_state_memory(config_of("tiny-mamba2", tiny(0)), {}).value();
  EXPECT_EQ(memory.num_blocks, 16);
  EXPECT_EQ(memory.num_buffers, 2);
  EXPECT_EQ(memory.page_size_bytes, 2048);
  EXPECT_EQ(memory.buffer_bytes(), 32768);
  EXPECT_EQ(memory.total_bytes(), 65536);
  EXPECT_EQ(memory.conv_kernel, 4);
  EXPECT_THAT(memory.layer_buffers, ElementsAre(0, 1));
  EXPECT_THAT(memory.state_offsets, ElementsAre(0, 192));
  EXPECT_THAT(memory.tensors.layers[0].states,
              ElementsAre(AllOf(Field(&StateTensor::shape, ElementsAre(16, 3, 32)),
                                Field(&StateTensor::stride, ElementsAre(1024, 32, 1)),
                                Field(&StateTensor::elem_size, 2)),
                          AllOf(Field(&StateTensor::shape, ElementsAre(16, 2, 8, 8)),
                                Field(&StateTensor::stride, ElementsAre(1024, 64, 8, 1)),
                                Field(&StateTensor::elem_size, 2))));
  EXPECT_THAT(memory.layout.state_conv_widths, ElementsAre(3, 0, 3, 0));
}

// Each draft is one more position of the window.
TEST(StateMemory, WindowsHaveRoomForDrafts) {
  const StateMemory memory = make_state_memory(config_of("tiny-mamba2", tiny(2)), {}).value();
  EXPECT_THAT(memory.layout.state_conv_widths, ElementsAre(5, 0, 5, 0));
  EXPECT_THAT(memory.state_offsets, ElementsAre(0, 320));
}

// The window runs along the last dimension: the rows of a block are its channels.
TEST(StateMemory, OfTheDsLayout) {
  KVCacheSettings settings = tiny(2);
  settings.conv_state_layout = ConvStateLayout::DS;
  const StateMemory memory = make_state_memory(config_of("tiny-mamba2", settings),
                                               {.conv_state_layout = ConvStateLayout::DS})
                                 .value();
  EXPECT_EQ(memory.tensors.conv_state_layout, ConvStateLayout::DS);
  EXPECT_THAT(memory.tensors.layers[0].states[0].shape, ElementsAre(16, 32, 5));
  EXPECT_THAT(memory.tensors.layers[0].states[0].stride, ElementsAre(1024, 5, 1));
  EXPECT_THAT(memory.layout.state_conv_widths, ElementsAre(5, 0, 5, 0));
  EXPECT_THAT(memory.layout.state_dim_row_count, ElementsAre(32, 0, 32, 0));
  EXPECT_THAT(memory.layout.state_dim_row_stride, ElementsAre(10, 0, 10, 0));
}

// 36 recurrent layers in 3 groups of 12: layer i of each group lies in buffer i.
TEST(StateMemory, GroupsShareTheirBuffers) {
  const StateMemory memory =
      make_state_memory(config_of("qwen3-next-80b-a3b", align(48, 2)), {}).value();
  EXPECT_EQ(memory.num_buffers, 12);
  EXPECT_THAT(memory.tensors.mamba_group_ids, ElementsAre(1, 2, 3));
  ASSERT_EQ(memory.layer_buffers.size(), 36u);
  for (std::size_t layer = 0; layer < 36; ++layer) {
    EXPECT_EQ(memory.layer_buffers[layer], static_cast<std::int32_t>(layer % 12));
    EXPECT_EQ(memory.tensors.layers[layer].group_index, static_cast<std::int32_t>(layer / 12));
  }
  EXPECT_EQ(memory.total_bytes(), 12 * 48 * memory.page_size_bytes);
}

TEST(StateMemory, KeepsTheFirstLayersOfEachGroup) {
  const StateMemory memory =
      make_state_memory(config_of("qwen3-next-80b-a3b", align(48, 2)), {.max_layers = 4}).value();
  EXPECT_EQ(memory.num_buffers, 4);
  EXPECT_THAT(memory.layer_buffers, ElementsAre(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_EQ(memory.total_bytes(), 4 * 48 * memory.page_size_bytes);
}

TEST(StateMemory, GroupsMayDifferInTheirLayers) {
  const StateMemory memory = make_state_memory(two_groups(), {}).value();
  EXPECT_EQ(memory.num_buffers, 3);
  EXPECT_THAT(memory.layer_buffers, ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(memory.tensors.mamba_group_ids, ElementsAre(1, 2));
  EXPECT_EQ(memory.total_bytes(), 3 * 5 * 64);
  EXPECT_THAT(make_state_memory(two_groups(), {.max_layers = 9}).value().layer_buffers,
              ElementsAre(0, 1, 2, 0, 1));
}

// 24 + 32 bytes of 64: the rest of a page is nobody's.
TEST(StateMemory, StatesLieBehindEachOtherAndLeaveThePadding) {
  const StateMemory memory = make_state_memory(two_groups(), {}).value();
  EXPECT_THAT(memory.state_offsets, ElementsAre(0, 24));
  EXPECT_EQ(memory.tensors.layers[0].states[0].block_stride_bytes(), 64);
  EXPECT_EQ(memory.tensors.layers[0].states[1].block_stride_bytes(), 64);
}

TEST(StateMemory, RefusesAModelWithoutRecurrentLayers) {
  EXPECT_EQ(
      error_of({.num_blocks = 5, .groups = {{.spec = FullAttentionSpec{8, 64}, .layers = {0}}}}),
      "the model has no recurrent layer");
}

TEST(StateMemory, RefusesGroupsWhoseSpecsDiffer) {
  KVCacheConfig config = two_groups();
  spec_of(config, 2).block_size = 16;
  EXPECT_EQ(error_of(config),
            "KV cache group 2 has another spec than the mamba group before it, expected one for "
            "all");
}

TEST(StateMemory, RefusesStatesThatDoNotFitTheirPage) {
  KVCacheConfig config = two_groups();
  spec_of(config, 1).page_size_bytes = spec_of(config, 2).page_size_bytes = 52;
  EXPECT_EQ(error_of(config), "the states of a layer take 56 bytes, more than a page of 52");
}

// 3 x 3 elements of 2 bytes: the float32 state behind them would begin at byte 18.
TEST(StateMemory, RefusesStatesThatBeginBetweenElements) {
  KVCacheConfig config = two_groups();
  for (std::size_t group = 1; group <= 2; ++group) spec_of(config, group).states[0].shape = {3, 3};
  EXPECT_EQ(error_of(config),
            "state 1 begins at byte 18 of a page of 64 bytes, expected multiples of its element "
            "size 4");
}

TEST(StateMemory, RefusesPagesThatEndBetweenElements) {
  KVCacheConfig config = two_groups();
  for (std::size_t group = 1; group <= 2; ++group) spec_of(config, group).page_size_bytes = 62;
  EXPECT_EQ(error_of(config),
            "state 1 begins at byte 24 of a page of 62 bytes, expected multiples of its element "
            "size 4");
}

// 2^62 bytes are the most: here 3 buffers of 2^30 pages of 2^33 bytes.
TEST(StateMemory, RefusesSizesThatNoAddressReaches) {
  KVCacheConfig config = two_groups();
  config.num_blocks = 1 << 30;
  for (std::size_t group = 1; group <= 2; ++group)
    spec_of(config, group).page_size_bytes = std::int64_t{1} << 33;
  EXPECT_EQ(error_of(config),
            "3 buffers of 1073741824 pages of 8589934592 bytes exceed the addressable size");
}

StateMemory memory_of(std::int32_t num_groups, std::int32_t num_blocks) {
  StateMemory memory;
  memory.num_blocks = num_blocks;
  for (std::int32_t group = 0; group < num_groups; ++group)
    memory.tensors.mamba_group_ids.push_back(group);
  return memory;
}

TEST(StepSize, IsThatOfTheArraysOfTheOperations) {
  StateOps ops;
  ops.add_poison(1);
  ops.add_copy({.dst_block = 2});
  ops.add_copy({.dst_block = 3});
  ops.tokens = {1, 2, 3, 4, 5};
  ops.writes.resize(4);
  ops.add_row({});
  ops.add_row({});
  ops.add_row({});
  EXPECT_EQ(
      size_of(ops),
      (StepSize{
          .num_poisoned = 1, .num_copies = 2, .num_rows = 3, .num_writes = 4, .num_tokens = 5}));
}

TEST(StepSize, HoldsAStepNoneOfWhoseArraysIsLonger) {
  const StepSize room{
      .num_poisoned = 1, .num_copies = 1, .num_rows = 1, .num_writes = 1, .num_tokens = 1};
  EXPECT_TRUE(room.holds(room));
  EXPECT_TRUE(room.holds({}));
  EXPECT_FALSE(room.holds({.num_poisoned = 2}));
  EXPECT_FALSE(room.holds({.num_copies = 2}));
  EXPECT_FALSE(room.holds({.num_rows = 2}));
  EXPECT_FALSE(room.holds({.num_writes = 2}));
  EXPECT_FALSE(room.holds({.num_tokens = 2}));
}

// 2 groups, 10 tokens in 3 rows: more blocks than a step can touch.
TEST(LargestStep, FollowsFromTokensAndRowsWhereBlocksAreMany) {
  EXPECT_EQ(largest_step(memory_of(2, 1000), {.max_num_batched_tokens = 10, .max_num_rows = 3}),
            (StepSize{.num_poisoned = 2000,
                      .num_copies = 2 * 2 * 3 + 2 * 10,
                      .num_rows = 2 * 3,
                      .num_writes = 2 * 4 * 10 + 2 * 3,
                      .num_tokens = 10 + 2 * 3}));
}

TEST(LargestStep, FollowsFromBlocksWhereTheyAreFew) {
  EXPECT_EQ(largest_step(memory_of(2, 5), {.max_num_batched_tokens = 8192, .max_num_rows = 256}),
            (StepSize{.num_poisoned = 10,
                      .num_copies = 3 * 5,
                      .num_rows = 2 * 256,
                      .num_writes = 2 * 5 + 2 * 256,
                      .num_tokens = 8192 + 2 * 256}));
}

// Fixed numbers: digests are compared across machines and releases.

using testing::IsEmpty;

TEST(StateOps, OperationsOfOneKindAreOneBatch) {
  StateOps ops;
  ops.add_poison(4);
  ops.add_poison(7);
  ops.add_row({.group_index = 0});
  ops.add_row({.group_index = 1});
  ops.add_poison(9);
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::poison, 0, 2},
                                       StateOpBatch{StateOpKind::forward, 0, 2},
                                       StateOpBatch{StateOpKind::poison, 2, 1}));
  EXPECT_THAT(ops.poisoned, ElementsAre(4, 7, 9));
}

// The copies of a launch read before they write, those of the next launch read what it wrote.
TEST(StateOps, LaunchesStayApart) {
  StateOps ops;
  ops.begin_launch();
  ops.add_copy({.dst_block = 2});
  ops.add_copy({.dst_block = 3});
  ops.begin_launch();
  ops.add_copy({.dst_block = 4});
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 2},
                                       StateOpBatch{StateOpKind::copy, 2, 1}));
}

TEST(StateOps, ClearedTheyAreAsNew) {
  StateOps ops;
  ops.add_poison(4);
  ops.begin_launch();
  ops.add_copy({.dst_block = 2});
  ops.add_row({});
  ops.writes.push_back({});
  ops.tokens.push_back(1);
  ops.token_fingerprints.push_back(2);
  ops.clear();
  EXPECT_THAT(ops.batches, IsEmpty());
  EXPECT_THAT(ops.poisoned, IsEmpty());
  EXPECT_THAT(ops.copies, IsEmpty());
  EXPECT_THAT(ops.rows, IsEmpty());
  EXPECT_THAT(ops.writes, IsEmpty());
  EXPECT_THAT(ops.tokens, IsEmpty());
  EXPECT_THAT(ops.token_fingerprints, IsEmpty());
  ops.add_copy({.dst_block = 5});
  EXPECT_THAT(ops.batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 1}));
}

constexpr Fingerprint kFingerprint = 0x0123456789ABCDEF;

std::vector<std::uint64_t> elements(Fingerprint fingerprint, std::int32_t elem_size, int count) {
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(trace_element(fingerprint, i, elem_size));
  return values;
}

TEST(TraceElement, TheFirstEightBytesAreTheFingerprint) {
  EXPECT_EQ(elements(kFingerprint, 4, 2), (std::vector<std::uint64_t>{0x89ABCDEF, 0x01234567}));
  EXPECT_EQ(elements(kFingerprint, 2, 4),
            (std::vector<std::uint64_t>{0xCDEF, 0x89AB, 0x4567, 0x0123}));
}

TEST(TraceElement, TheOthersAreMixedAndCut) {
  EXPECT_EQ(mix(kFingerprint, 4), 0xD5506DD1AF65E7FDULL);
  EXPECT_EQ(trace_element(kFingerprint, 4, 4), 0xAF65E7FDu);
  EXPECT_EQ(trace_element(kFingerprint, 4, 2), 0xE7FDu);
  EXPECT_EQ(trace_element(kFingerprint, 2, 4), 0xE9750B71u);
  EXPECT_EQ(trace_element(kFingerprint, 5, 4), 0xD04CC09Eu);
}

TEST(TraceElement, PoisonIsOnePatternThroughout) {
  EXPECT_EQ(elements(kPoison, 4, 4), std::vector<std::uint64_t>(4, 0xDEADDEAD));
  EXPECT_EQ(elements(kPoison, 2, 8), std::vector<std::uint64_t>(8, 0xDEAD));
}

TEST(TraceElement, BeforeTheFirstTokenThereAreZeros) {
  EXPECT_EQ(elements(kBeforeFirstToken, 4, 4), std::vector<std::uint64_t>(4, 0));
  EXPECT_EQ(elements(kBeforeFirstToken, 2, 8), std::vector<std::uint64_t>(8, 0));
}

// For kernels: known at compile time.
static_assert(trace_element(kFingerprint, 0, 4) == 0x89ABCDEF);

}  // namespace

}  // namespace hybridscope::state_memory_test
