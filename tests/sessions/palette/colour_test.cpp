#include "sessions/palette/palette.h"

#include <gtest/gtest.h>

#include "tests/sessions/palette/colour_measures.h"

namespace hybridscope::colour_test {
namespace {

using test::ColourVision;
using test::contrast_ratio;
using test::delta_e;
using test::Lab;
using test::simulate;
using test::to_lab;

constexpr Rgba kBlack = rgb(0x000000);
constexpr Rgba kWhite = rgb(0xFFFFFF);

TEST(Colour, HexIsRedGreenBlueAndOpaque) { EXPECT_EQ(rgb(0xE69F00), (Rgba{230, 159, 0, 255})); }

TEST(Contrast, BlackAndWhiteHaveTheMost) {
  EXPECT_NEAR(contrast_ratio(kBlack, kWhite), 21, 1e-9);
  EXPECT_NEAR(contrast_ratio(kWhite, kBlack), 21, 1e-9);
  EXPECT_NEAR(contrast_ratio(kWhite, kWhite), 1, 1e-9);
}

// The two greys between which WCAG's 4.5 on white lies, and pure colours as its tools give them.
TEST(Contrast, IsWcags) {
  EXPECT_NEAR(contrast_ratio(rgb(0x777777), kWhite), 4.48, 0.005);
  EXPECT_NEAR(contrast_ratio(rgb(0x767676), kWhite), 4.54, 0.005);
  EXPECT_NEAR(contrast_ratio(rgb(0xFF0000), kWhite), 4.00, 0.005);
  EXPECT_NEAR(contrast_ratio(rgb(0x0000FF), kWhite), 8.59, 0.005);
}

TEST(Lab, IsThatOfTheStandardForPrimaries) {
  const Lab red = to_lab(rgb(0xFF0000));
  EXPECT_NEAR(red.l, 53.24, 0.01);
  EXPECT_NEAR(red.a, 80.09, 0.01);
  EXPECT_NEAR(red.b, 67.20, 0.01);
  const Lab blue = to_lab(rgb(0x0000FF));
  EXPECT_NEAR(blue.l, 32.30, 0.01);
  EXPECT_NEAR(blue.a, 79.19, 0.01);
  EXPECT_NEAR(blue.b, -107.86, 0.01);
  EXPECT_NEAR(to_lab(kBlack).l, 0, 1e-9);
}

TEST(Lab, DistanceIsStraight) {
  EXPECT_NEAR(delta_e(kBlack, kWhite), 100, 0.01);
  EXPECT_NEAR(delta_e(rgb(0xFF0000), rgb(0x00FF00)), 170.57, 0.01);
  EXPECT_EQ(delta_e(kWhite, kWhite), 0);
}

TEST(ColourVision, NormalSeesWhatIsThere) {
  EXPECT_EQ(simulate(rgb(0xE69F00), ColourVision::normal), rgb(0xE69F00));
}

TEST(ColourVision, GreysStayGrey) {
  for (const ColourVision vision :
       {ColourVision::protanopia, ColourVision::deuteranopia, ColourVision::tritanopia}) {
    EXPECT_EQ(simulate(kBlack, vision), kBlack);
    EXPECT_EQ(simulate(rgb(0x808080), vision), rgb(0x808080));
    EXPECT_EQ(simulate(kWhite, vision), kWhite);
  }
}

// Red, linear (1, 0, 0), becomes the first column of each matrix: 0.152286 is 109, 0.114503 is 95.
TEST(ColourVision, RedIsTheFirstColumnOfTheMatrix) {
  EXPECT_EQ(simulate(rgb(0xFF0000), ColourVision::protanopia), rgb(0x6D5F00));
  EXPECT_EQ(simulate(rgb(0xFF0000), ColourVision::deuteranopia), rgb(0xA39000));
  EXPECT_EQ(simulate(rgb(0xFF0000), ColourVision::tritanopia), rgb(0xFF000F));
}

TEST(ColourVision, KeepsAlpha) {
  EXPECT_EQ(simulate({0, 0, 0, 40}, ColourVision::protanopia), (Rgba{0, 0, 0, 40}));
}

}  // namespace
}  // namespace hybridscope::colour_test
