#include "core/model/state_shape.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::state_dtype_test {
namespace {

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
}  // namespace hybridscope::state_dtype_test
