// States beside those of lone runs, by layer and block.
#include "gui/model/heat_map_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "gui/model/live_speech.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/support/small_language_model.h"

namespace hybridscope::heat_map_model_test {
namespace {

constexpr RequestId kA{0};

// Layer 0 is attention in group 0; layers 1 and 2 are recurrent in group 1.
Speech two_steps() {
  Speech speech(
      {.weights = "tiny",
       .vocab_size = 50,
       .layers = {
           {0, "attention", false}, {1, "GatedDeltaNet", true}, {1, "short convolution", true}}});
  speech.add({.step = 1, .compared = {{kA, 1, 4, StateKind::temporal, false}}});
  speech.add(
      {.step = 2,
       .compared = {{kA, 1, 4, StateKind::temporal, true}, {kA, 1, 7, StateKind::conv, false}},
       .states = {{.step = 2,
                   .request = kA,
                   .group = 1,
                   .layer = 1,
                   .is_read = true,
                   .block = 4,
                   .num_elements = 512,
                   .largest = 0.031}}});
  return speech;
}

TEST(HeatMapModel, HasTheLastComparisonOfEachLayerAndBlock) {
  const Speech speech = two_steps();
  const HeatMapModel model = heat_map_of(speech, 2, numbered_names());
  EXPECT_THAT(model.blocks, testing::ElementsAre(4, 7));
  ASSERT_EQ(model.layers.size(), 2U);
  EXPECT_EQ(model.layers[0].words, "1 GatedDeltaNet");
  EXPECT_EQ(model.at(0, 0).level, HeatLevel::large);
  EXPECT_EQ(heat_words(model.at(0, 0)), "3e-2");
  EXPECT_EQ(model.at(1, 0).level, HeatLevel::equal);
  EXPECT_EQ(model.at(0, 1).level, HeatLevel::equal);
  EXPECT_EQ(describe_heat(model, numbered_names(), 0, 0),
            "Block 4, layer 1 GatedDeltaNet: |state - lone run| is at most 0.031, in 512 elements, "
            "where a row of r0 read it in step 2");
}

TEST(HeatMapModel, ShowsNothingOfLaterSteps) {
  const Speech speech = two_steps();
  const HeatMapModel model = heat_map_of(speech, 1, numbered_names());
  EXPECT_THAT(model.blocks, testing::ElementsAre(4));
  EXPECT_EQ(model.at(0, 0).level, HeatLevel::equal);
  EXPECT_EQ(model.first, "");
}

TEST(HeatMapModel, NamesTheFirstWrongState) {
  const Speech speech = two_steps();
  const HeatMapModel model = heat_map_of(speech, 9, numbered_names());
  EXPECT_EQ(model.first,
            "The first wrong state: step 2, block 4, layer 1, where a row of r0 read the temporal "
            "state: |state - lone run| is at most 0.031, in 512 elements.");
  EXPECT_EQ(model.first_step, 2);
  EXPECT_EQ(model.first_block, 4);
}

TEST(HeatMapModel, LevelsAreByPowersOfTen) {
  EXPECT_EQ(heat_level(0, 0), HeatLevel::equal);
  EXPECT_EQ(heat_level(0, 1), HeatLevel::tiny);  // other bits of a zero
  EXPECT_EQ(heat_level(0.0001, 1), HeatLevel::small);
  EXPECT_EQ(heat_level(0.01, 1), HeatLevel::large);
  EXPECT_EQ(heat_level(1, 1), HeatLevel::huge);
  EXPECT_EQ(heat_words({.level = HeatLevel::huge, .largest = 12.7, .num_elements = 1}), "12");
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(heat_level(infinite, 1), HeatLevel::huge);
  EXPECT_EQ(heat_words({.level = HeatLevel::huge, .largest = infinite, .num_elements = 1}), "nan");
}

TEST(HeatMapModel, SaysTheLastWriteOfTheSelectedBlock) {
  const auto run = test::scenario_at("plain_decode", 3);
  run->speak_with(std::make_shared<const LanguageModel>(
      LanguageModel{"tiny", NumericForm::recurrent,
                    std::make_shared<const HybridModel>(test::small_language_model())}));
  while (run->awaits_more()) (void)run->load_more();
  const HeatMapModel all = make_heat_map_model(*run, {});
  ASSERT_FALSE(all.blocks.empty());
  const HeatMapModel model = make_heat_map_model(*run, {.block = all.blocks.front()});
  ASSERT_GE(model.selected.size(), 2U);
  EXPECT_THAT(model.selected[0], testing::HasSubstr("equal in every bit"));
  EXPECT_THAT(model.selected[1], testing::HasSubstr("last write: step 3"));
}

}  // namespace
}  // namespace hybridscope::heat_map_model_test
