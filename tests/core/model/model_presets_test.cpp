#include "core/model/model_presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/model/model_check.h"

namespace hybridscope::model_presets_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
}  // namespace hybridscope::model_presets_test
