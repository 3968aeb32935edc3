#include "core/model/model_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <numeric>
#include <random>

#include "core/model/model_policies.h"
#include "core/model/model_presets.h"

namespace hybridscope::model_layout_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t k60GiB = std::int64_t{60} << 30;

ModelLayout layout_of(const char* preset, const KVCacheSettings& settings) {
  auto layout = build_kv_cache_config(model_preset(preset).value(), settings);
  if (!layout) throw std::runtime_error(layout.error().message);
  return std::move(layout).value();
}

std::string error_of(const char* preset, const KVCacheSettings& settings) {
  const auto layout = build_kv_cache_config(model_preset(preset).value(), settings);
  return layout ? "" : layout.error().message;
}

std::size_t num_mamba_groups(const ModelLayout& layout) {
  std::size_t count = 0;
  for (const KVCacheGroup& group : layout.kv_cache_config.groups) count += group.is_mamba() ? 1 : 0;
  return count;
}

// The worked example, first column; the other two follow (semantics: block-and-page-size).
TEST(WorkedFigures, Qwen3NextWithoutDraftsInBfloat16) {
  const ModelLayout layout = layout_of("qwen3-next-80b-a3b", {.kv_cache_memory_bytes = k60GiB});
  const BlockSizeChoice& choice = layout.page_size.choice;
  EXPECT_EQ(choice.attn_bytes_per_token, 2048);
  EXPECT_EQ(choice.mamba_page, 1097728);
  EXPECT_EQ(choice.block_size, 544);
  EXPECT_EQ(choice.page_size, 1114112);
  EXPECT_NEAR(padding_waste_percent(choice), 1.493, 0.0005);
  EXPECT_EQ(layout.page_size.layer_groups.group_size, 12);
  EXPECT_EQ(layout.kv_cache_config.groups.size(), 4u);
  EXPECT_EQ(num_mamba_groups(layout), 3u);
  EXPECT_EQ(layout.kv_cache_config.num_blocks, 4818);
}

TEST(WorkedFigures, Qwen3NextWithTwoDraftsInBfloat16) {
  const ModelLayout layout = layout_of(
      "qwen3-next-80b-a3b", {.num_speculative_tokens = 2, .kv_cache_memory_bytes = k60GiB});
  const BlockSizeChoice& choice = layout.page_size.choice;
  EXPECT_THAT(layout.mamba_spec().states,
              ElementsAre(StateTensorSpec{StateKind::conv, {5, 8192}, Dtype::bfloat16},
                          StateTensorSpec{StateKind::temporal, {32, 128, 128}, Dtype::bfloat16}));
  EXPECT_EQ(choice.mamba_page, 1130496);
  EXPECT_EQ(choice.block_size, 560);
  EXPECT_EQ(choice.page_size, 1146880);
  EXPECT_NEAR(padding_waste_percent(choice), 1.449, 0.0005);
  EXPECT_EQ(layout.kv_cache_config.num_blocks, 4681);
}

TEST(WorkedFigures, Qwen3NextWithTwoDraftsAndFloat32TemporalState) {
  const ModelLayout layout = layout_of("qwen3-next-80b-a3b", {.num_speculative_tokens = 2,
                                                              .mamba_ssm_cache_dtype = "float32",
                                                              .kv_cache_memory_bytes = k60GiB});
  const BlockSizeChoice& choice = layout.page_size.choice;
  EXPECT_EQ(choice.mamba_page, 2179072);
  EXPECT_EQ(choice.block_size, 1072);
  EXPECT_EQ(choice.page_size, 2195456);
  EXPECT_NEAR(padding_waste_percent(choice), 0.752, 0.0005);
  EXPECT_EQ(layout.kv_cache_config.num_blocks, 2445);
}

TEST(WorkedFigures, TheGroupsAreInterleaved) {
  const ModelLayout layout = layout_of("qwen3-next-80b-a3b", {.kv_cache_memory_bytes = k60GiB});
  const auto& groups = layout.kv_cache_config.groups;
  EXPECT_FALSE(groups[0].is_mamba());
  EXPECT_THAT(groups[0].layers, ElementsAre(3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47));
  EXPECT_THAT(groups[1].layers, ElementsAre(0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44));
  EXPECT_EQ(groups[3].layers.front(), 2);
}

TEST(ModelLayout, EveryPageOfTheModelIsTheSameSize) {
  for (const std::string& name : model_preset_names()) {
    const ModelLayout layout = layout_of(name.c_str(), {.num_gpu_blocks_override = 100});
    const std::int64_t page = layout.page_size.choice.page_size;
    for (const KVCacheGroup& group : layout.kv_cache_config.groups)
      EXPECT_EQ(group.is_mamba() ? std::get<MambaSpec>(group.spec).page_size_bytes
                                 : std::get<FullAttentionSpec>(group.spec).page_size_bytes,
                page)
          << name;
    EXPECT_GE(page, layout.page_size.choice.mamba_page) << name;
  }
}

struct FamilyCase {
  const char* preset;
  MambaType mamba_type;
  MambaCacheMode default_mode;
  std::int64_t block_size;
  std::size_t num_groups;
  std::int32_t num_padding_layers;
};

class EveryFamily : public testing::TestWithParam<FamilyCase> {};

// By hand, e.g. kimi: 3 convs of 3*4096*2 bytes + 32*128*128*4 = 2,170,880 bytes of state, 576*2
// bytes a token: 16 * ceil(2,170,880 / 18,432) = 1,888; 20 KDA layers in groups of 7: 3, one short.
TEST_P(EveryFamily, HasItsBlockSizeAndGroups) {
  const FamilyCase& expected = GetParam();
  const ModelLayout layout = layout_of(expected.preset, {.num_gpu_blocks_override = 100});
  EXPECT_EQ(layout.mamba_spec().mamba_type, expected.mamba_type);
  EXPECT_EQ(layout.mamba_cache_mode, expected.default_mode);
  EXPECT_EQ(layout.page_size.choice.block_size, expected.block_size);
  EXPECT_EQ(layout.kv_cache_config.groups.size(), expected.num_groups);
  EXPECT_EQ(layout.page_size.layer_groups.num_padding_layers, expected.num_padding_layers);
}

constexpr MambaCacheMode kAll = MambaCacheMode::all;
constexpr MambaCacheMode kAlign = MambaCacheMode::align;

INSTANTIATE_TEST_SUITE_P(
    Presets, EveryFamily,
    testing::Values(FamilyCase{"mamba-2.8b", MambaType::mamba1, kAll, 2048, 1, 0},
                    FamilyCase{"mamba2-2.7b", MambaType::mamba2, kAll, 256, 1, 0},
                    FamilyCase{"bamba-9b", MambaType::mamba2, kAll, 768, 11, 1},
                    FamilyCase{"nemotron-h-8b", MambaType::mamba2, kAll, 1152, 7, 0},
                    FamilyCase{"granite-4.0-h-small", MambaType::mamba2, kAll, 768, 10, 0},
                    FamilyCase{"qwen3-next-80b-a3b", MambaType::gdn_attention, kAlign, 544, 4, 0},
                    FamilyCase{"kimi-linear-48b-a3b", MambaType::kda, kAlign, 1888, 4, 1},
                    FamilyCase{"lfm2-1.2b", MambaType::short_conv, kAlign, 16, 3, 2},
                    FamilyCase{"minimax-text-01", MambaType::linear_attention, kAlign, 512, 8, 0},
                    FamilyCase{"tiny-mamba2", MambaType::mamba2, kAll, 128, 2, 0},
                    FamilyCase{"tiny-gdn", MambaType::gdn_attention, kAlign, 128, 3, 0}),
    [](const auto& test) {
      std::string name = test.param.preset;
      for (char& letter : name)
        if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
      return name;
    });

// As vLLM's class of Nemotron-H: 128 heads of 64 * 128 in float32 and a conv state in bfloat16.
TEST(ModelLayout, TheModelsDtypeOfRecurrentStatesHoldsUnlessOneIsSet) {
  const auto page = [](const std::string& dtype) {
    return layout_of("nemotron-h-8b",
                     {.mamba_ssm_cache_dtype = dtype, .num_gpu_blocks_override = 100})
        .page_size.choice.mamba_page;
  };
  EXPECT_EQ(page("auto"), 4'194'304 + 61'440);
  EXPECT_EQ(page("bfloat16"), 2'097'152 + 61'440);
}

TEST(ModelLayout, TensorParallelismSplitsStatesAndAttentionAlike) {
  const ModelLayout layout =
      layout_of("qwen3-next-80b-a3b", {.tensor_parallel_size = 2, .num_gpu_blocks_override = 100});
  EXPECT_EQ(layout.page_size.choice.attn_bytes_per_token, 1024);
  EXPECT_EQ(layout.page_size.choice.mamba_page, 548864);
  EXPECT_EQ(layout.page_size.choice.block_size, 544);
  EXPECT_THAT(
      error_of("qwen3-next-80b-a3b", {.tensor_parallel_size = 3, .num_gpu_blocks_override = 100}),
      HasSubstr("3"));
}

TEST(ModelLayout, Fp8AttentionNeedsTwiceTheTokensForTheSameState) {
  const ModelLayout layout =
      layout_of("qwen3-next-80b-a3b", {.cache_dtype = "fp8", .num_gpu_blocks_override = 100});
  EXPECT_EQ(layout.page_size.choice.block_size, 1072);
}

TEST(ModelLayout, DsLayoutTurnsTheConvShapeAround) {
  const ModelLayout layout =
      layout_of("qwen3-next-80b-a3b",
                {.conv_state_layout = ConvStateLayout::DS, .num_gpu_blocks_override = 100});
  EXPECT_EQ(layout.mamba_spec().states[0].shape, (StateShape{8192, 3}));
}

TEST(ConvStateSizing, SafeGivesEverySpeculatingFamilyRoomForItsDrafts) {
  const KVCacheSettings settings{.num_speculative_tokens = 2, .num_gpu_blocks_override = 100};
  const auto conv = [&](const char* preset) {
    return layout_of(preset, settings).mamba_spec().states[0].shape;
  };
  EXPECT_EQ(conv("mamba-2.8b"), (StateShape{5, 5120}));
  EXPECT_EQ(conv("granite-4.0-h-small"), (StateShape{5, 8448}));
  EXPECT_EQ(conv("qwen3-next-80b-a3b"), (StateShape{5, 8192}));
  EXPECT_EQ(conv("kimi-linear-48b-a3b"), (StateShape{5, 4096}));
  EXPECT_EQ(conv("lfm2-1.2b"), (StateShape{4, 2048}));
  EXPECT_EQ(conv("minimax-text-01"), (StateShape{64, 128, 128}));
}

TEST(ConvStateSizing, AsReferenceGivesItOnlyWhereTheModelCodePassesItOn) {
  const KVCacheSettings settings{.num_speculative_tokens = 2,
                                 .conv_state_sizing = ConvStateSizing::as_reference,
                                 .num_gpu_blocks_override = 100};
  const auto conv = [&](const char* preset) {
    return layout_of(preset, settings).mamba_spec().states[0].shape;
  };
  EXPECT_EQ(conv("mamba-2.8b"), (StateShape{3, 5120}));
  EXPECT_EQ(conv("granite-4.0-h-small"), (StateShape{3, 8448}));
  EXPECT_EQ(conv("nemotron-h-8b"), (StateShape{5, 10240}));
  EXPECT_EQ(conv("qwen3-next-80b-a3b"), (StateShape{5, 8192}));
  EXPECT_EQ(conv("kimi-linear-48b-a3b"), (StateShape{3, 4096}));
}

// From 0.32.0 on: granite's conv state has room, that of a family that takes no num_spec has none.
TEST(ConvStateSizing, ByStateShapeGivesItToFamiliesWhoseShapeTakesIt) {
  const KVCacheSettings settings{.num_speculative_tokens = 2,
                                 .conv_state_sizing = ConvStateSizing::by_state_shape,
                                 .num_gpu_blocks_override = 100};
  const auto conv = [&](const char* preset) {
    return layout_of(preset, settings).mamba_spec().states[0].shape;
  };
  EXPECT_EQ(conv("granite-4.0-h-small"), (StateShape{5, 8448}));
  EXPECT_EQ(conv("qwen3-next-80b-a3b"), (StateShape{5, 8192}));
  EXPECT_EQ(conv("mamba-2.8b"), (StateShape{3, 5120}));
  EXPECT_EQ(conv("kimi-linear-48b-a3b"), (StateShape{3, 4096}));
}

TEST(CheckpointLayers, Mamba2StoresAtAnyToken) {
  const auto spec = [](CheckpointLayers layers, MambaCacheMode mode) {
    return layout_of("tiny-mamba2", {.mamba_cache_mode = mode,
                                     .checkpoint_layers = layers,
                                     .block_size = 8,
                                     .num_gpu_blocks_override = 100})
        .mamba_spec();
  };
  const MambaSpec without = spec(CheckpointLayers::none, MambaCacheMode::align);
  EXPECT_EQ(without.num_prefill_checkpoint_blocks, 0);
  EXPECT_EQ(without.prefill_checkpoint_alignment, 0);
  const MambaSpec with = spec(CheckpointLayers::mamba2, MambaCacheMode::align);
  EXPECT_EQ(with.block_size, 8);
  EXPECT_EQ(with.num_prefill_checkpoint_blocks, 1);
  EXPECT_EQ(with.prefill_checkpoint_alignment, 1);
  EXPECT_EQ(spec(CheckpointLayers::mamba2, MambaCacheMode::all).num_prefill_checkpoint_blocks, 0);
}

TEST(CheckpointLayers, GatedDeltaNetNeedsFlashInferAndBlocksOf64) {
  KVCacheSettings settings{.mamba_cache_mode = MambaCacheMode::align,
                           .checkpoint_layers = CheckpointLayers::mamba2_and_gdn,
                           .gdn_prefill_backend = GdnPrefillBackend::triton,
                           .block_size = 96,
                           .num_gpu_blocks_override = 100};
  MambaSpec spec = layout_of("tiny-gdn", settings).mamba_spec();
  EXPECT_EQ(spec.block_size, 96);
  EXPECT_EQ(spec.num_prefill_checkpoint_blocks, 0);
  settings.gdn_prefill_backend = GdnPrefillBackend::flashinfer;
  spec = layout_of("tiny-gdn", settings).mamba_spec();
  EXPECT_EQ(spec.block_size, 192);  // lcm(96, 64)
  EXPECT_EQ(spec.num_prefill_checkpoint_blocks, 1);
  EXPECT_EQ(spec.prefill_checkpoint_alignment, 192);
  settings.hash_block_size = 32;
  EXPECT_EQ(layout_of("tiny-gdn", settings).mamba_spec().prefill_checkpoint_alignment, 64);
  settings.checkpoint_layers = CheckpointLayers::mamba2;
  EXPECT_EQ(layout_of("tiny-gdn", settings).mamba_spec().num_prefill_checkpoint_blocks, 0);
  EXPECT_EQ(layout_of("tiny-mamba2", settings).mamba_spec().block_size, 96);
}

TEST(ModelLayout, TeachingBlocksOf4And8HoldATinyStateWithThreeDrafts) {
  for (const char* preset : {"tiny-mamba2", "tiny-gdn"}) {
    for (const std::int64_t block_size : {4, 8}) {
      for (const char* ssm : {"auto", "float32"}) {
        const ModelLayout layout = layout_of(preset, {.num_speculative_tokens = 3,
                                                      .block_size = block_size,
                                                      .mamba_ssm_cache_dtype = ssm,
                                                      .num_gpu_blocks_override = 64});
        EXPECT_EQ(layout.page_size.choice.block_size, block_size) << preset;
        EXPECT_EQ(layout.mamba_spec().block_size, block_size) << preset;
      }
    }
  }
}

TEST(ModelLayout, TinyModelsServeALongRequestFrom4096BlocksInEveryModeTheyHave) {
  for (const char* preset : {"tiny-mamba2", "tiny-gdn"}) {
    for (const std::int64_t drafts : {0, 3}) {
      const ModelLayout layout = layout_of(preset, {.num_speculative_tokens = drafts,
                                                    .num_gpu_blocks_override = 4096,
                                                    .max_model_len = 126527});
      for (const ModeNeeds& need : layout.page_size.needs) {
        if (need.supported) {
          EXPECT_LE(need.total_blocks, 4095) << preset;
        }
      }
    }
    EXPECT_GE(layout_of(preset, {.num_gpu_blocks_override = 4096}).max_model_len, 126527);
  }
}

using ::testing::ElementsAre;

LayersOfKind layers(std::int32_t first, std::int32_t count) {
  LayersOfKind result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), first);
  return result;
}

LayerGroups grouped(const std::vector<LayersOfKind>& kinds) {
  const auto groups = make_layer_groups(kinds);
  EXPECT_TRUE(groups.ok()) << groups.error().message;
  return groups.value();
}

TEST(LayerGroups, TheFewestLayersOfAKindMakeTheGroupSize) {
  const LayerGroups groups = grouped({layers(0, 12), layers(12, 36)});
  EXPECT_EQ(groups.group_size, 12);
  EXPECT_EQ(groups.groups.size(), 4u);
  EXPECT_EQ(groups.num_padding_layers, 0);
}

TEST(LayerGroups, GroupIHoldsEveryMthLayerOfItsKind) {
  const LayerGroups groups = grouped({{3, 7}, {0, 1, 2, 4, 5, 6}});
  EXPECT_THAT(groups.groups, ElementsAre(LayerGroup{0, {3, 7}}, LayerGroup{1, {0, 4}},
                                         LayerGroup{1, {1, 5}}, LayerGroup{1, {2, 6}}));
}

TEST(LayerGroups, TheLastGroupsAreShortAndTheMissingLayersArePadding) {
  const LayerGroups groups = grouped({{5, 6}, {0, 1, 2, 3, 4}});
  EXPECT_THAT(groups.groups, ElementsAre(LayerGroup{0, {5, 6}}, LayerGroup{1, {0, 3}},
                                         LayerGroup{1, {1, 4}}, LayerGroup{1, {2}}));
  EXPECT_EQ(groups.num_padding_layers, 1);
}

TEST(LayerGroups, NearlyEqualKindsPadTheSmallerInsteadOfSplittingTheLarger) {
  // 5 < 1.5 * 4: one group of 5 each, the attention group one layer short.
  const LayerGroups groups = grouped({layers(0, 4), layers(4, 5)});
  EXPECT_EQ(groups.group_size, 5);
  EXPECT_EQ(groups.groups.size(), 2u);
  EXPECT_EQ(groups.num_padding_layers, 1);
}

TEST(LayerGroups, OneAndAHalfTimesIsNotNearlyEqual) {
  const LayerGroups groups = grouped({layers(0, 4), layers(4, 6)});
  EXPECT_EQ(groups.group_size, 4);
  EXPECT_EQ(groups.groups.size(), 3u);
  EXPECT_EQ(groups.num_padding_layers, 2);
}

TEST(LayerGroups, AModelOfOneKindIsOneGroup) {
  EXPECT_EQ(grouped({{}, layers(0, 64)}).groups.size(), 1u);
  EXPECT_EQ(grouped({layers(0, 64)}).group_size, 64);
}

TEST(LayerGroups, NoLayersIsAnError) {
  EXPECT_FALSE(make_layer_groups({}).ok());
  EXPECT_FALSE(make_layer_groups(std::vector<LayersOfKind>{{}, {}}).ok());
}

TEST(LayerGroups, EveryLayerIsInExactlyOneGroupOfItsKindAndNoGroupIsTooLarge) {
  std::mt19937 random(20240601);  // NOLINT: fixed seed
  for (int round = 0; round < 300; ++round) {
    const auto n_a = static_cast<std::int32_t>(random() % 20);
    const auto n_b = static_cast<std::int32_t>(1 + random() % 60);
    const std::vector<LayersOfKind> kinds = {layers(0, n_a), layers(n_a, n_b)};
    const LayerGroups groups = grouped(kinds);
    std::vector<std::int32_t> seen;
    std::int32_t slots = 0;
    for (const LayerGroup& group : groups.groups) {
      ASSERT_LE(group.layers.size(), static_cast<std::size_t>(groups.group_size));
      ASSERT_TRUE(std::is_sorted(group.layers.begin(), group.layers.end()));
      for (const std::int32_t layer : group.layers)
        ASSERT_EQ(group.kind, layer < n_a ? 0 : 1) << "round " << round;
      seen.insert(seen.end(), group.layers.begin(), group.layers.end());
      slots += groups.group_size;
    }
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen, layers(0, n_a + n_b)) << "round " << round;
    ASSERT_EQ(groups.num_padding_layers, slots - n_a - n_b) << "round " << round;
  }
}

}  // namespace

}  // namespace hybridscope::model_layout_test
