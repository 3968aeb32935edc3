#include "core/model/state_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/model_presets.h"
#include "core/model/model_spec.h"

namespace hybridscope::state_shape_test {
namespace {

using ::testing::ElementsAre;

std::vector<StateShape> shapes_of(const char* preset, const StateShapeOptions& options) {
  const auto shapes = state_shapes(model_preset(preset).value().recurrent, options);
  EXPECT_TRUE(shapes.ok()) << shapes.error().message;
  return shapes.value();
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
              testing::AllOf(testing::HasSubstr("5120"), testing::HasSubstr("parallel size 3")));
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

using ::testing::ElementsAre;

constexpr Dtype kBf16 = Dtype::bfloat16;
constexpr Dtype kF16 = Dtype::float16;
constexpr Dtype kF32 = Dtype::float32;

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
  EXPECT_THAT(unknown.error().message, testing::HasSubstr("mamba_ssm_cache_dtype \"fp8\""));
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

}  // namespace hybridscope::state_shape_test
