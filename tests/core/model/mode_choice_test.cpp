// Which mode a model ends up in, what a request needs there, and what is refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/model_layout.h"
#include "core/model/model_presets.h"

namespace hybridscope::mode_choice_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr MambaCacheMode kNone = MambaCacheMode::none;
constexpr MambaCacheMode kAll = MambaCacheMode::all;
constexpr MambaCacheMode kAlign = MambaCacheMode::align;

ModelLayout layout_of(const char* preset, KVCacheSettings settings) {
  if (!settings.num_gpu_blocks_override) settings.num_gpu_blocks_override = 100;
  auto layout = build_kv_cache_config(model_preset(preset).value(), settings);
  if (!layout) throw std::runtime_error(layout.error().message);
  return std::move(layout).value();
}

std::string error_of(const char* preset, const KVCacheSettings& settings) {
  const auto layout = build_kv_cache_config(model_preset(preset).value(), settings);
  return layout ? "" : layout.error().message;
}

struct ModeCase {
  const char* name;
  const char* preset;
  std::optional<MambaCacheMode> requested;
  std::optional<bool> enable_prefix_caching;
  MambaCacheMode mode;
  ModeReason reason;
};

class ModeChoice : public testing::TestWithParam<ModeCase> {};

TEST_P(ModeChoice, FollowsTheModelAndPrefixCaching) {
  const ModeCase& expected = GetParam();
  const ModelLayout layout =
      layout_of(expected.preset, {.mamba_cache_mode = expected.requested,
                                  .enable_prefix_caching = expected.enable_prefix_caching});
  EXPECT_EQ(layout.mamba_cache_mode, expected.mode);
  EXPECT_EQ(layout.mode_reason, expected.reason);
  EXPECT_EQ(layout.enable_prefix_caching, expected.mode != kNone);
  EXPECT_EQ(layout.mamba_spec().mamba_cache_mode, expected.mode);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ModeChoice,
    testing::Values(
        ModeCase{"unset_mamba2", "tiny-mamba2", {}, true, kAll, ModeReason::default_all},
        ModeCase{"unset_gdn", "tiny-gdn", {}, true, kAlign, ModeReason::default_align},
        ModeCase{"unset_uncached", "tiny-mamba2", {}, false, kNone, ModeReason::prefix_caching_off},
        ModeCase{"all_mamba2", "tiny-mamba2", kAll, true, kAll, ModeReason::requested},
        ModeCase{"all_gdn", "tiny-gdn", kAll, true, kAlign, ModeReason::all_unsupported},
        ModeCase{"all_kda", "kimi-linear-48b-a3b", kAll, true, kAlign, ModeReason::all_unsupported},
        ModeCase{"all_uncached", "tiny-gdn", kAll, false, kNone, ModeReason::prefix_caching_off},
        ModeCase{"align_mamba2", "tiny-mamba2", kAlign, true, kAlign, ModeReason::requested},
        ModeCase{"align_uncached", "tiny-mamba2", kAlign, false, kNone,
                 ModeReason::prefix_caching_off},
        ModeCase{"none", "tiny-mamba2", kNone, {}, kNone, ModeReason::requested},
        ModeCase{"none_cached", "tiny-mamba2", kNone, true, kAll, ModeReason::none_with_caching},
        ModeCase{"none_cached_gdn", "tiny-gdn", kNone, true, kAlign, ModeReason::none_with_caching},
        ModeCase{"unset", "tiny-gdn", {}, {}, kAlign, ModeReason::default_align},
        ModeCase{"none_uncached", "tiny-gdn", kNone, false, kNone, ModeReason::requested}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(ModelLayout, EveryPresetRunsInEveryModeItHas) {
  for (const std::string& name : model_preset_names()) {
    for (const MambaCacheMode mode : {kNone, kAlign, kAll}) {
      const ModelLayout layout =
          layout_of(name.c_str(), {.mamba_cache_mode = mode, .num_speculative_tokens = 2});
      const bool has_all = layout.model.mamba_all_mode == MambaAllMode::supported;
      EXPECT_EQ(layout.mamba_cache_mode, mode == kAll && !has_all ? kAlign : mode) << name;
      EXPECT_EQ(layout.mamba_spec().num_speculative_blocks, 2) << name;
    }
  }
}

TEST(ModelLayout, ModeNoneHasABlockForTheWholeRequest) {
  const ModelLayout layout =
      layout_of("tiny-gdn", {.mamba_cache_mode = kNone, .max_model_len = 1000});
  EXPECT_EQ(layout.mamba_spec().block_size, 1000);
  EXPECT_EQ(layout.kv_cache_config.groups[0].block_size(), 128);
  // Without caching both grids are the lcm of 128 and 1,000.
  EXPECT_EQ(layout.block_sizes, (SchedulerBlockSizes{16000, 16000}));
}

TEST(ModelLayout, ModeAlignSharesOneGridBetweenAllGroups) {
  EXPECT_EQ(layout_of("qwen3-next-80b-a3b", {}).block_sizes, (SchedulerBlockSizes{544, 544}));
  EXPECT_EQ(layout_of("qwen3-next-80b-a3b", {.hash_block_size = 16}).block_sizes,
            (SchedulerBlockSizes{544, 16}));
  EXPECT_THAT(
      error_of("qwen3-next-80b-a3b", {.hash_block_size = 15, .num_gpu_blocks_override = 100}),
      HasSubstr("prefix_match_unit is 15"));
}

TEST(ModeNeeds, CountBlocksPerGroupInEachMode) {
  const ModelLayout layout =
      layout_of("tiny-mamba2", {.num_speculative_tokens = 2, .max_model_len = 1000});
  // Blocks of 128: 8 attention blocks; one attention and one mamba group.
  EXPECT_THAT(layout.page_size.needs, testing::ElementsAre(ModeNeeds{kNone, true, 128, 8, 3, 11},
                                                           ModeNeeds{kAlign, true, 128, 8, 4, 12},
                                                           ModeNeeds{kAll, true, 128, 8, 10, 18}));
}

TEST(ModeNeeds, AModeTheModelLacksIsMarked) {
  const ModelLayout layout = layout_of("tiny-gdn", {});
  EXPECT_TRUE(layout.page_size.needs[1].supported);
  EXPECT_EQ(layout.page_size.needs[2], (ModeNeeds{kAll, false, 0, 0, 0, 0}));
}

TEST(ModelLayout, RefusesAlignWhenAStepCannotHoldABlock) {
  EXPECT_THAT(error_of("qwen3-next-80b-a3b",
                       {.num_gpu_blocks_override = 100, .max_num_batched_tokens = 512}),
              AllOf(HasSubstr("544"), HasSubstr("512")));
  EXPECT_EQ(error_of("qwen3-next-80b-a3b", {.mamba_cache_mode = kNone,
                                            .num_gpu_blocks_override = 100,
                                            .max_num_batched_tokens = 512}),
            "");
  EXPECT_THAT(error_of("qwen3-next-80b-a3b",
                       {.num_gpu_blocks_override = 100, .long_prefill_token_threshold = 500}),
              HasSubstr("long_prefill_token_threshold 500"));
}

TEST(ModelLayout, RefusesModeAllWhenChunksDoNotDivideTheBlock) {
  EXPECT_THAT(error_of("bamba-9b", {.mamba_block_size = 48, .num_gpu_blocks_override = 100}),
              HasSubstr("chunk size 256"));
  EXPECT_EQ(error_of("bamba-9b", {.mamba_cache_mode = kAlign,
                                  .mamba_block_size = 48,
                                  .num_gpu_blocks_override = 100}),
            "");
}

TEST(ModelLayout, RefusesAVerifyWindowLongerThanABlock) {
  EXPECT_THAT(
      error_of("tiny-mamba2",
               {.num_speculative_tokens = 4, .block_size = 4, .num_gpu_blocks_override = 100}),
      HasSubstr("mamba block size 4"));
  EXPECT_EQ(error_of("tiny-mamba2", {.mamba_cache_mode = kNone,
                                     .num_speculative_tokens = 4,
                                     .block_size = 4,
                                     .num_gpu_blocks_override = 100}),
            "");
}

TEST(ModelLayout, RefusesSettingsOutOfRange) {
  EXPECT_THAT(error_of("tiny-gdn", {}), HasSubstr("0 bytes hold 0 blocks"));
  EXPECT_THAT(error_of("tiny-gdn", {.num_gpu_blocks_override = 1}), HasSubstr("at least 2"));
  const KVCacheSettings good{.num_gpu_blocks_override = 100};
  KVCacheSettings bad = good;
  bad.num_speculative_tokens = -1;
  EXPECT_THAT(error_of("tiny-gdn", bad), HasSubstr("num_speculative_tokens is -1"));
  bad = good;
  bad.tensor_parallel_size = 0;
  EXPECT_THAT(error_of("tiny-gdn", bad), HasSubstr("tensor_parallel_size is 0"));
  bad = good;
  bad.max_model_len = 0;
  EXPECT_THAT(error_of("tiny-gdn", bad), HasSubstr("max_model_len is 0"));
  bad = good;
  bad.block_size = -4;
  EXPECT_THAT(error_of("tiny-gdn", bad), HasSubstr("block_size is -4"));
  bad = good;
  bad.mamba_ssm_cache_dtype = "int3";
  EXPECT_THAT(error_of("tiny-gdn", bad), HasSubstr("int3"));
  bad = good;
  bad.num_gpu_blocks_override = std::int64_t{1} << 31;
  EXPECT_THAT(error_of("tiny-gdn", bad), HasSubstr("32-bit"));
}

TEST(CheckModel, NamesTheFieldThatIsOutOfRange) {
  ModelSpec model = model_preset("tiny-gdn").value();
  EXPECT_TRUE(check_model(model).ok());
  std::get<GatedDeltaNetDims>(model.recurrent).head_k_dim = 0;
  EXPECT_THAT(check_model(model).error().message, HasSubstr("head_k_dim is 0"));
  model = model_preset("tiny-gdn").value();
  model.attention.head_size = kMaxModelDim + 1;
  EXPECT_THAT(check_model(model).error().message, HasSubstr("head_size is 16777217"));
  model = model_preset("tiny-gdn").value();
  model.layers = {LayerKind::attention};
  EXPECT_THAT(check_model(model).error().message, HasSubstr("none of its 1 layers is recurrent"));
}

using ::testing::ElementsAre;

std::vector<std::int32_t> attention_layers(const char* preset) {
  return layers_of_kind(model_preset(preset).value(), LayerKind::attention);
}

std::size_t num_recurrent(const char* preset) {
  return layers_of_kind(model_preset(preset).value(), LayerKind::recurrent).size();
}

TEST(ModelPresets, AreTheElevenOfTheTable) {
  EXPECT_THAT(
      model_preset_names(),
      ElementsAre("mamba-2.8b", "mamba2-2.7b", "bamba-9b", "nemotron-h-8b", "granite-4.0-h-small",
                  "qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "lfm2-1.2b", "minimax-text-01",
                  "tiny-mamba2", "tiny-mamba2-groups", "tiny-gdn"));
}

TEST(ModelPresets, EachIsValidAndNamesItsSource) {
  for (const std::string& name : model_preset_names()) {
    const ModelSpec model = model_preset(name).value();
    EXPECT_EQ(model.name, name);
    EXPECT_GT(model.source.size(), 20u) << name;
    EXPECT_TRUE(check_model(model).ok()) << name;
  }
}

TEST(ModelPresets, AttentionLayersStandWhereTheModelsHaveThem) {
  EXPECT_THAT(attention_layers("mamba-2.8b"), ElementsAre());
  EXPECT_THAT(attention_layers("bamba-9b"), ElementsAre(9, 18, 27));
  EXPECT_THAT(attention_layers("nemotron-h-8b"), ElementsAre(7, 18, 29, 40));
  EXPECT_THAT(attention_layers("granite-4.0-h-small"), ElementsAre(5, 15, 25, 35));
  EXPECT_THAT(attention_layers("qwen3-next-80b-a3b"),
              ElementsAre(3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 43, 47));
  EXPECT_THAT(attention_layers("kimi-linear-48b-a3b"), ElementsAre(3, 7, 11, 15, 19, 23, 26));
  EXPECT_THAT(attention_layers("lfm2-1.2b"), ElementsAre(2, 5, 8, 10, 12, 14));
  EXPECT_THAT(attention_layers("minimax-text-01"),
              ElementsAre(7, 15, 23, 31, 39, 47, 55, 63, 71, 79));
}

TEST(ModelPresets, LayerCountsAddUp) {
  EXPECT_EQ(num_recurrent("mamba-2.8b"), 64u);
  EXPECT_EQ(num_recurrent("mamba2-2.7b"), 64u);
  EXPECT_EQ(num_recurrent("bamba-9b"), 29u);
  EXPECT_EQ(num_recurrent("nemotron-h-8b"), 24u);
  EXPECT_EQ(model_preset("nemotron-h-8b").value().layers.size(), 52u);
  EXPECT_EQ(num_recurrent("granite-4.0-h-small"), 36u);
  EXPECT_EQ(num_recurrent("qwen3-next-80b-a3b"), 36u);
  EXPECT_EQ(num_recurrent("kimi-linear-48b-a3b"), 20u);
  EXPECT_EQ(num_recurrent("lfm2-1.2b"), 10u);
  EXPECT_EQ(num_recurrent("minimax-text-01"), 70u);
}

TEST(ModelPresets, AnUnknownNameListsTheKnownOnes) {
  const auto model = model_preset("qwen4");
  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().kind, ErrorKind::not_found);
  EXPECT_THAT(model.error().message, testing::AllOf(HasSubstr("qwen4"), HasSubstr("tiny-gdn")));
}

TEST(LayerPattern, UnknownLettersAreNamedWithTheirPlace) {
  EXPECT_THAT(layers_from_pattern("M*-E").value(),
              ElementsAre(LayerKind::recurrent, LayerKind::attention, LayerKind::stateless,
                          LayerKind::stateless));
  EXPECT_THAT(layers_from_pattern("M*X").error().message, HasSubstr("letter 2 is 'X'"));
}

}  // namespace

}  // namespace hybridscope::mode_choice_test
