#include "tests/gui/image_difference.h"

#include <gtest/gtest.h>

namespace hybridscope::test::image_difference_test {
namespace {

struct Pixel {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
};

Image plain(PixelSize size, Pixel colour) {
  Image image{.size = size, .rgba = {}};
  for (int i = 0; i < size.width * size.height; ++i)
    image.rgba.insert(image.rgba.end(), {colour.r, colour.g, colour.b, 255});
  return image;
}

// A picture of 40x40 in grey with a block of another colour.
struct Block {
  int x = 0;
  int y = 0;
  int width = 1;
  int height = 1;
  Pixel colour;
};
Image grey_with(const Block& block) {
  Image image = plain({40, 40}, {100, 100, 100});
  for (int y = block.y; y < block.y + block.height; ++y)
    for (int x = block.x; x < block.x + block.width; ++x) {
      const auto at = static_cast<std::size_t>((y * 40 + x) * 4);
      image.rgba[at] = block.colour.r;
      image.rgba[at + 1] = block.colour.g;
      image.rgba[at + 2] = block.colour.b;
    }
  return image;
}

constexpr Pixel kBlue{0, 0, 255};
const ImageTolerance kTolerance;

std::string difference(const Image& expected, const Image& actual) {
  return difference_of(expected, actual, kTolerance).words;
}

TEST(ImageDifference, EqualPicturesDoNotDiffer) {
  EXPECT_EQ(difference(plain({3, 2}, kBlue), plain({3, 2}, kBlue)), "");
}

TEST(ImageDifference, AnotherSizeIsTold) {
  EXPECT_EQ(difference(plain({3, 2}, kBlue), plain({2, 3}, kBlue)),
            "expected 3x2 pixels, found 2x3");
}

// Edges drawn by another version: every pixel by 6, or 8 pixels of a square by any amount.
TEST(ImageDifference, SlightChangesEverywhereAndFewStrongOnesPass) {
  EXPECT_EQ(difference(plain({40, 40}, {100, 100, 100}), plain({40, 40}, {106, 94, 100})), "");
  EXPECT_EQ(difference(plain({40, 40}, {100, 100, 100}),
                       grey_with({.x = 4, .y = 4, .width = 8, .colour = kBlue})),
            "");
}

// Of a changed element's corner: 3x3 pixels.
TEST(ImageDifference, AMissingMarkIsFound) {
  EXPECT_EQ(difference(grey_with({.x = 17, .y = 33, .width = 3, .height = 3, .colour = kBlue}),
                       plain({40, 40}, {100, 100, 100})),
            "squares of 16x16 with more than 8 other pixels: 1, the first at 16, 32");
}

TEST(ImageDifference, AMovedColumnIsFound) {
  const auto column_at = [](int x) {
    return grey_with({.x = x, .y = 0, .width = 4, .height = 40, .colour = kBlue});
  };
  EXPECT_EQ(difference(column_at(4), column_at(5)),
            "squares of 16x16 with more than 8 other pixels: 3, the first at 0, 0");
}

// 7 is less than is seen in one pixel, but 40 of 1600 pixels have it.
TEST(ImageDifference, AnAreaOfASlightlyOtherColourIsFound) {
  EXPECT_EQ(difference(plain({40, 40}, {100, 100, 100}),
                       grey_with({.x = 0, .y = 0, .width = 40, .colour = {100, 107, 100}})),
            "2.5 % of the pixels are not the same, 1.0 % may");
}

TEST(ImageDifference, WhatDiffersIsRedOnThePalePicture) {
  const Image marked =
      difference_of(plain({1, 2}, {100, 100, 100}),
                    {.size = {1, 2}, .rgba = {100, 100, 100, 255, 200, 100, 100, 255}}, kTolerance)
          .marked;
  EXPECT_EQ(marked.rgba, (std::vector<std::uint8_t>{185, 185, 185, 255, 255, 0, 0, 255}));
}

}  // namespace
}  // namespace hybridscope::test::image_difference_test
