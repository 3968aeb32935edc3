#include "core/numeric/dense_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hybridscope::dense_layers_test {
namespace {

using testing::ElementsAre;

// The mean of the squares of 3 and 4 twice is 12.5; the scale is 1 / 3.5355.
TEST(RmsNorm, DividesByTheRootOfTheMeanSquare) {
  const std::vector<float> x{3, 4}, weight{1, 10};
  std::vector<float> y(2);
  rms_norm({weight, 0, NormWeight::plain}, x, y);
  EXPECT_FLOAT_EQ(y[0], 3 / std::sqrt(12.5F));
  EXPECT_FLOAT_EQ(y[1], 40 / std::sqrt(12.5F));
  rms_norm({weight, 0, NormWeight::plus_one}, x, y);
  EXPECT_FLOAT_EQ(y[1], 44 / std::sqrt(12.5F));
}

TEST(GatedNorm, GatesFirstAndNormalisesEachGroup) {
  const std::vector<float> x{1, 1}, z{100, 200}, weight{1, 1};
  std::vector<float> y(2);
  gated_norm({weight, 0}, 2, x, z, y);
  EXPECT_THAT(y, ElementsAre(1, 1));  // each group is one element
  norm_gated({weight, 0}, OutputGate::silu, x, z, y);
  EXPECT_THAT(y, ElementsAre(100, 200));
  norm_gated({weight, 0}, OutputGate::sigma, x, z, y);
  EXPECT_THAT(y, ElementsAre(1, 1));
}

TEST(Linear, EachOutputHasARowOfWeights) {
  const std::vector<float> weight{1, 2, 3, 4}, x{10, 1};
  std::vector<float> y(2);
  linear(weight, x, y);
  EXPECT_THAT(y, ElementsAre(12, 34));
}

TEST(GatedMlp, MultipliesTheGateWithTheUpProjection) {
  const std::vector<float> gate{100}, up{3}, down{2}, x{1};
  std::vector<float> y(1);
  gated_mlp({gate, up, down, 1}, x, y);
  EXPECT_THAT(y, ElementsAre(600));
}

TEST(RopeTable, TurnsHalvesOfTheRotaryPartOnly) {
  RopeTable table(2, 10000.0);
  std::vector<float> head{1, 0, 5};
  table.turn(0, head);
  EXPECT_THAT(head, ElementsAre(1, 0, 5));
  table.turn(3, head);
  EXPECT_EQ(head[0], static_cast<float>(std::cos(3.0)));
  EXPECT_EQ(head[1], static_cast<float>(std::sin(3.0)));
  EXPECT_EQ(head[2], 5);
}

}  // namespace
}  // namespace hybridscope::dense_layers_test
