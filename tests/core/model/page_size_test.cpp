// From a model to the size of a block: shapes and dtypes of states, pages, block sizes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/model/model_presets.h"
#include "core/model/model_spec.h"
#include "core/model/page_size.h"
#include "core/model/state_shape.h"

namespace hybridscope::page_size_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
T good(const Result<T>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.value();
}

BlockSizeChoice chosen(const BlockSizeInput& input) { return good(choose_block_size(input)); }

// bamba-9b: 2,147,840 bytes of state, 4,096 bytes of keys and values a token, chunks of 256.
BlockSizeInput bamba(MambaCacheMode mode) {
  return {.mamba_cache_mode = mode,
          .attn_bytes_per_token = 4096,
          .mamba_page = 2147840,
          .chunk_size = 256,
          .max_model_len = 262144};
}

TEST(AttnBytesPerToken, CountsKeysAndValuesOfTheHeadsOnOneRank) {
  AttentionShard shard{{.num_kv_heads = 8, .head_size = 128}};
  EXPECT_EQ(attn_bytes_per_token(shard).value(), 4096);
  shard.tp_world_size = 4;
  EXPECT_EQ(attn_bytes_per_token(shard).value(), 1024);
  shard.dtype_size = 1;
  EXPECT_EQ(attn_bytes_per_token(shard).value(), 512);
}

TEST(AttnBytesPerToken, MoreRanksThanHeadsRepeatOneHead) {
  EXPECT_EQ(attn_bytes_per_token({{.num_kv_heads = 2, .head_size = 256}, 8, 2}).value(), 1024);
}

TEST(AttnBytesPerToken, RanksThatSplitNoHeadEvenlyAreAnError) {
  EXPECT_FALSE(attn_bytes_per_token({{.num_kv_heads = 8, .head_size = 128}, 3, 2}).ok());
  EXPECT_FALSE(attn_bytes_per_token({{.num_kv_heads = 2, .head_size = 128}, 5, 2}).ok());
  EXPECT_FALSE(attn_bytes_per_token({{.num_kv_heads = 0, .head_size = 128}, 1, 2}).ok());
}

TEST(AttnBytesPerToken, MlaKeepsOneLatentVectorOnEveryRank) {
  const AttentionDims mla{
      .attention_type = AttentionType::mla, .kv_lora_rank = 512, .qk_rope_head_dim = 64};
  EXPECT_EQ(attn_bytes_per_token({mla, 1, 2}).value(), 1152);
  EXPECT_EQ(attn_bytes_per_token({mla, 8, 2}).value(), 1152);
}

TEST(MambaPage, AddsTheBytesOfAllStates) {
  const std::vector<StateTensorSpec> states = {
      {StateKind::conv, {5, 8192}, Dtype::bfloat16},
      {StateKind::temporal, {32, 128, 128}, Dtype::float32}};
  EXPECT_EQ(mamba_page_bytes(states), 2179072);
}

TEST(MambaPage, AnAbsurdStateSaturatesInsteadOfWrapping) {
  const std::int64_t huge = std::int64_t{1} << 40;
  const std::vector<StateTensorSpec> states = {{StateKind::temporal, {huge, huge}, Dtype::float32},
                                               {StateKind::temporal, {huge, huge}, Dtype::float32}};
  EXPECT_EQ(mamba_page_bytes(states), kMaxPageBytes + 1);
}

TEST(BlockSize, NoneAndAlignRoundTheStateUpToTheAlignment) {
  for (const MambaCacheMode mode : {MambaCacheMode::none, MambaCacheMode::align}) {
    const BlockSizeChoice choice = chosen(bamba(mode));
    EXPECT_EQ(choice.alignment, 16);
    EXPECT_EQ(choice.min_tokens, 525);
    EXPECT_EQ(choice.num_granules, 33);
    EXPECT_EQ(choice.block_size, 528);
    EXPECT_EQ(choice.page_size, 2162688);
    EXPECT_EQ(choice.padding, 14848);
  }
}

TEST(BlockSize, ModeAllRoundsUpToTheChunk) {
  const BlockSizeChoice choice = chosen(bamba(MambaCacheMode::all));
  EXPECT_EQ(choice.base_chunk, 256);
  EXPECT_EQ(choice.chunk, 256);
  EXPECT_EQ(choice.block_size, 768);
  EXPECT_EQ(choice.mamba_block_size, 768);
}

TEST(BlockSize, ModeNoneHasOneMambaBlockForTheWholeRequest) {
  EXPECT_EQ(chosen(bamba(MambaCacheMode::none)).mamba_block_size, 262144);
  EXPECT_EQ(chosen(bamba(MambaCacheMode::align)).mamba_block_size, 528);
}

TEST(BlockSize, IsNeverBelowTheUsersBlockSize) {
  BlockSizeInput input = bamba(MambaCacheMode::align);
  input.block_size = 8;  // below the kernel's smallest block
  EXPECT_EQ(chosen(input).block_size, 528);
  input.block_size = 1000;
  EXPECT_EQ(chosen(input).block_size, 1000);
  input.block_size = 400;  // 525 tokens need two of 400
  EXPECT_EQ(chosen(input).block_size, 800);
}

TEST(BlockSize, ModeAllTakesTheLcmOfChunkAndAlignment) {
  BlockSizeInput input = bamba(MambaCacheMode::all);
  input.block_size = 48;
  EXPECT_EQ(chosen(input).chunk, 768);
  EXPECT_EQ(chosen(input).block_size, 768);
}

TEST(BlockSize, ModeAllRefusesABlockThatChunksDoNotDivide) {
  BlockSizeInput input = bamba(MambaCacheMode::all);
  input.mamba_block_size = 48;  // multiples of 48: 528 is the first that holds the state
  const auto choice = choose_block_size(input);
  ASSERT_FALSE(choice.ok());
  EXPECT_THAT(choice.error().message, testing::AllOf(HasSubstr("528"), HasSubstr("256")));
  input.mamba_block_size = 512;
  EXPECT_EQ(chosen(input).block_size, 1024);
}

TEST(BlockSize, ModeAllWithoutChunksTakesTheUsersBlock) {
  BlockSizeInput input = bamba(MambaCacheMode::all);
  input.chunk_size = 0;
  EXPECT_EQ(chosen(input).block_size, 2048);
  input.mamba_block_size = 48;
  EXPECT_EQ(chosen(input).block_size, 528);
}

TEST(BlockSize, APureRecurrentModelHasNoPageToMatch) {
  BlockSizeInput input = bamba(MambaCacheMode::align);
  input.attn_bytes_per_token = 0;
  EXPECT_EQ(chosen(input).block_size, 256);  // a chunk
  EXPECT_EQ(chosen(input).page_size, 2147840);
  EXPECT_EQ(chosen(input).padding, 0);
  input.block_size = 8;
  EXPECT_EQ(chosen(input).block_size, 8);
  input.mamba_cache_mode = MambaCacheMode::all;
  EXPECT_EQ(chosen(input).block_size, 256);
}

TEST(BlockSize, ValuesOutOfRangeAreErrors) {
  BlockSizeInput input = bamba(MambaCacheMode::align);
  input.mamba_page = 0;
  EXPECT_FALSE(choose_block_size(input).ok());
  input = bamba(MambaCacheMode::align);
  input.block_size = 0;
  EXPECT_FALSE(choose_block_size(input).ok());
  input = bamba(MambaCacheMode::align);
  input.mamba_page = kMaxPageBytes;
  input.attn_bytes_per_token = 1;
  EXPECT_FALSE(choose_block_size(input).ok());
  input = bamba(MambaCacheMode::all);
  input.mamba_block_size = 2147483647;  // lcm far beyond 2^31
  EXPECT_FALSE(choose_block_size(input).ok());
}

TEST(BlockSize, WasteIsRelativeToTheState) {
  EXPECT_NEAR(padding_waste_percent(chosen(bamba(MambaCacheMode::align))), 0.691, 0.0005);
}

TEST(AlignLimits, ABlockHasToFitInOneStepOfPrefill) {
  AlignLimits limits{MambaCacheMode::align, 528, 528, 0};
  EXPECT_TRUE(check_align_limits(limits).ok());
  limits.max_num_batched_tokens = 527;
  const Status status = check_align_limits(limits);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, testing::AllOf(HasSubstr("528"), HasSubstr("527")));
  limits.mamba_cache_mode = MambaCacheMode::all;
  EXPECT_TRUE(check_align_limits(limits).ok());
}

TEST(AlignLimits, ALongPrefillThresholdHasToAllowABlock) {
  EXPECT_TRUE(check_align_limits({MambaCacheMode::align, 528, 8192, 528}).ok());
  EXPECT_FALSE(check_align_limits({MambaCacheMode::align, 528, 8192, 527}).ok());
  EXPECT_TRUE(check_align_limits({MambaCacheMode::none, 528, 8192, 527}).ok());
}

TEST(NumBlocks, IsWhatTheMemoryHoldsOfWholeGroups) {
  EXPECT_EQ(num_blocks_from_memory({1000, 100, 3}).value(), 3);
  EXPECT_FALSE(num_blocks_from_memory({599, 100, 3}).ok());  // one block: only the null block
  EXPECT_FALSE(num_blocks_from_memory({-5, 100, 3}).ok());
  EXPECT_FALSE(num_blocks_from_memory({1000, 0, 3}).ok());
}

TEST(BlocksPerRequest, FollowTheMode) {
  BlocksPerRequest request{MambaCacheMode::none, 1001, 100, 2};
  EXPECT_EQ(mamba_blocks_per_request(request), 3);
  request.mamba_cache_mode = MambaCacheMode::align;
  EXPECT_EQ(mamba_blocks_per_request(request), 4);
  request.mamba_cache_mode = MambaCacheMode::all;
  EXPECT_EQ(mamba_blocks_per_request(request), 13);
  EXPECT_EQ(attention_blocks_per_request(request), 11);
}

constexpr GroupType kFull = GroupType::full, kMamba = GroupType::mamba;

SchedulerBlockSizes resolved(const BlockSizeSettings& settings) {
  return good(resolve_block_sizes(settings));
}

TEST(SchedulerAndHashBlockSize, OneGroupUsesTheCacheBlockSizeTimesContextParallelism) {
  const std::vector<GroupBlockSize> groups = {{kMamba, 64}};
  EXPECT_EQ(resolved({.block_size = 16,
                      .enable_prefix_caching = true,
                      .hash_block_size = 3,
                      .decode_context_parallel_size = 2,
                      .groups = groups}),
            (SchedulerBlockSizes{32, 32}));
}

TEST(SchedulerAndHashBlockSize, SeveralGroupsShareTheLcmAndHashTheGcd) {
  const std::vector<GroupBlockSize> groups = {{kFull, 12}, {kFull, 32}, {kMamba, 16}};
  EXPECT_EQ(resolved({.block_size = 16, .enable_prefix_caching = true, .groups = groups}),
            (SchedulerBlockSizes{96, 4}));
}

TEST(SchedulerAndHashBlockSize, AMambaGroupOffTheCacheBlockSizeHashesOnTheSchedulerGrid) {
  const std::vector<GroupBlockSize> groups = {{kFull, 16}, {kMamba, 64}};
  EXPECT_EQ(resolved({.block_size = 16,
                      .enable_prefix_caching = true,
                      .hash_block_size = 7,
                      .groups = groups}),
            (SchedulerBlockSizes{64, 64}));
}

TEST(SchedulerAndHashBlockSize, NobodyHashesWithoutCachingAndConnector) {
  const std::vector<GroupBlockSize> groups = {{kFull, 16}, {kMamba, 16}};
  EXPECT_EQ(resolved({.block_size = 16, .hash_block_size = 8, .groups = groups}),
            (SchedulerBlockSizes{16, 16}));
  EXPECT_EQ(
      resolved({.block_size = 16, .hash_block_size = 8, .kv_connector = true, .groups = groups}),
      (SchedulerBlockSizes{16, 8}));
}

TEST(SchedulerAndHashBlockSize, RefusesWhatTheReferenceRefuses) {
  const std::vector<GroupBlockSize> groups = {{kFull, 16}, {kMamba, 16}};
  const BlockSizeSettings good{.block_size = 16, .enable_prefix_caching = true, .groups = groups};
  BlockSizeSettings settings = good;
  settings.hash_block_size = 3;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
  settings.hash_block_size = 0;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
  settings = good;
  settings.decode_context_parallel_size = 2;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
  settings = good;
  settings.block_size = 0;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
}

TEST(SchedulerAndHashBlockSize, AnLcmBeyond63BitsIsAnError) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::vector<GroupBlockSize> groups = {{kFull, kMax}, {kFull, kMax - 1}};
  EXPECT_FALSE(resolve_block_sizes({.block_size = 16, .groups = groups}).ok());
  const std::vector<GroupBlockSize> one = {{kFull, 16}};
  EXPECT_FALSE(
      resolve_block_sizes({.block_size = kMax, .decode_context_parallel_size = 2, .groups = one})
          .ok());
}

std::vector<StateShape> shapes_of(const char* preset, const StateShapeOptions& options) {
  return good(state_shapes(model_preset(preset).value().recurrent, options));
}

TEST(StateShape, Mamba1HasConvAndTemporal) {
  EXPECT_THAT(shapes_of("mamba-2.8b", {}), ElementsAre(StateShape{3, 5120}, StateShape{5120, 16}));
}

TEST(StateShape, Mamba1IgnoresDrafts) {
  EXPECT_THAT(shapes_of("mamba-2.8b", {.num_spec = 2}),
              ElementsAre(StateShape{3, 5120}, StateShape{5120, 16}));
}

TEST(StateShape, Mamba2ConvGrowsByTheDrafts) {
  EXPECT_THAT(shapes_of("mamba2-2.7b", {.num_spec = 4}),
              ElementsAre(StateShape{7, 5376}, StateShape{80, 64, 128}));
}

TEST(StateShape, DsPutsTheDimensionFirst) {
  EXPECT_THAT(shapes_of("nemotron-h-8b", {.conv_state_layout = ConvStateLayout::DS, .num_spec = 1}),
              ElementsAre(StateShape{10240, 4}, StateShape{128, 64, 128}));
}

TEST(StateShape, Mamba2RepeatsAGroupThatTensorParallelismCannotSplit) {
  // One group becomes four, one a rank: (8192 + 2*4*128) / 4.
  EXPECT_THAT(shapes_of("bamba-9b", {.tp_world_size = 4}),
              ElementsAre(StateShape{3, 2304}, StateShape{32, 64, 128}));
}

TEST(StateShape, GdnHasValueHeadsByValueByKeyDimension) {
  EXPECT_THAT(shapes_of("qwen3-next-80b-a3b", {.num_spec = 2}),
              ElementsAre(StateShape{5, 8192}, StateShape{32, 128, 128}));
  EXPECT_THAT(shapes_of("qwen3-next-80b-a3b", {.tp_world_size = 2}),
              ElementsAre(StateShape{3, 4096}, StateShape{16, 128, 128}));
}

TEST(StateShape, KdaHasThreeConvsAndIgnoresDrafts) {
  EXPECT_THAT(shapes_of("kimi-linear-48b-a3b", {.num_spec = 3}),
              ElementsAre(StateShape{3, 4096}, StateShape{3, 4096}, StateShape{3, 4096},
                          StateShape{32, 128, 128}));
}

TEST(StateShape, KdaKeyHeadsShapeOnlyTheKeyConvs) {
  const auto shapes =
      kda_state_shape({.num_heads = 4, .head_dim = 8, .num_k_heads = 2, .head_k_dim = 16}, {});
  EXPECT_THAT(shapes.value(), ElementsAre(StateShape{3, 32}, StateShape{3, 32}, StateShape{3, 32},
                                          StateShape{4, 8, 8}));
  const auto narrow = kda_state_shape({.num_heads = 4, .head_dim = 8, .num_k_heads = 2}, {});
  EXPECT_THAT(narrow.value(), ElementsAre(StateShape{3, 32}, StateShape{3, 16}, StateShape{3, 16},
                                          StateShape{4, 8, 8}));
}

TEST(StateShape, ShortConvHasOnlyTheConv) {
  EXPECT_THAT(shapes_of("lfm2-1.2b", {}), ElementsAre(StateShape{2, 2048}));
}

TEST(StateShape, LinearAttentionFloorsItsHeadsWithoutAskingForDivisibility) {
  EXPECT_THAT(shapes_of("minimax-text-01", {}), ElementsAre(StateShape{64, 128, 128}));
  EXPECT_THAT(shapes_of("minimax-text-01", {.tp_world_size = 3}),
              ElementsAre(StateShape{21, 128, 128}));
}

TEST(StateShape, ExtraGroupsCanBeNegative) {
  EXPECT_EQ(extra_groups_for_head_shards({.ngroups = 8, .tp_size = 4}).value(), 0);
  EXPECT_EQ(extra_groups_for_head_shards({.ngroups = 1, .tp_size = 4}).value(), 3);
  EXPECT_EQ(extra_groups_for_head_shards({.ngroups = 5, .tp_size = 2}).value(), -3);
}

TEST(StateShape, IndivisibleTensorParallelismIsAnErrorWithTheNumbers) {
  const auto shapes = mamba1_state_shape({5120, 16, 4}, {.tp_world_size = 3});
  ASSERT_FALSE(shapes.ok());
  EXPECT_THAT(shapes.error().message,
              testing::AllOf(HasSubstr("5120"), HasSubstr("parallel size 3")));
  EXPECT_FALSE(kda_state_shape({.num_heads = 3, .head_dim = 4}, {.tp_world_size = 2}).ok());
  EXPECT_FALSE(short_conv_state_shape({7, 3}, {.tp_world_size = 2}).ok());
}

TEST(StateShape, TensorParallelSizeZeroIsAnError) {
  for (const std::string& name : model_preset_names()) {
    const RecurrentDims dims = model_preset(name).value().recurrent;
    EXPECT_FALSE(state_shapes(dims, {.tp_world_size = 0}).ok()) << name;
  }
  EXPECT_FALSE(extra_groups_for_head_shards({.ngroups = 1, .tp_size = 0}).ok());
}

constexpr Dtype kBf16 = Dtype::bfloat16, kF16 = Dtype::float16, kF32 = Dtype::float32;

TEST(StateDtype, AutoFollowsTheModel) {
  EXPECT_THAT(mamba2_state_dtype({.model_dtype = "half"}).value(), ElementsAre(kF16, kF16));
}

TEST(StateDtype, SsmDtypeChangesOnlyTheTemporalState) {
  EXPECT_THAT(gated_delta_net_state_dtype({.mamba_ssm_cache_dtype = "float32"}).value(),
              ElementsAre(kBf16, kF32));
  EXPECT_THAT(mamba1_state_dtype({.mamba_cache_dtype = "float16"}).value(),
              ElementsAre(kF16, kF16));
}

TEST(StateDtype, KdaRecurrentStateIsAlwaysFloat32) {
  EXPECT_THAT(kda_state_dtype({}).value(), ElementsAre(kBf16, kBf16, kBf16, kF32));
}

TEST(StateDtype, LinearAttentionRefusesTheNameFloat32Only) {
  EXPECT_FALSE(linear_attention_state_dtype({.mamba_cache_dtype = "float32"}).ok());
  EXPECT_THAT(linear_attention_state_dtype({.model_dtype = "float32"}).value(), ElementsAre(kF32));
}

TEST(StateDtype, AnUnknownNameIsAnErrorOnlyWhereItIsUsed) {
  EXPECT_FALSE(short_conv_state_dtype({.model_dtype = "int4"}).ok());
  EXPECT_TRUE(short_conv_state_dtype({.model_dtype = "int4", .mamba_cache_dtype = "half"}).ok());
  const auto unknown = mamba2_state_dtype({.mamba_ssm_cache_dtype = "fp8"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("mamba_ssm_cache_dtype \"fp8\""));
}

TEST(StateDtype, EveryStateTensorOfALayerHasItsDtype) {
  for (const MambaType type : {MambaType::mamba1, MambaType::mamba2, MambaType::linear_attention,
                               MambaType::short_conv, MambaType::gdn_attention, MambaType::kda})
    EXPECT_EQ(state_dtypes(type, {}).value().size(), state_copy_funcs(type).size());
}

TEST(AttentionDtype, CountsBytesOfAnElement) {
  EXPECT_EQ(attention_dtype_size_bytes({}).value(), 2);
  EXPECT_EQ(attention_dtype_size_bytes({.model_dtype = "float"}).value(), 4);
  EXPECT_EQ(attention_dtype_size_bytes({.cache_dtype = "fp8_e4m3"}).value(), 1);
  EXPECT_FALSE(attention_dtype_size_bytes({.cache_dtype = "fp9"}).ok());
}

}  // namespace
}  // namespace hybridscope::page_size_test
