// Compares a picture with the expected one: tolerates differences between renderer versions, but
// not differences that a person would see.
#pragma once

#include <cstdint>
#include <string>

#include "gui/surface.h"

namespace hybridscope::test {

struct ImageTolerance {
  // A channel that differs by more than this is visible. Slightly different edges have few such
  // pixels per square, a different mark has many.
  std::int32_t seen = 24;
  std::int32_t square = 16;           // pixels along a side
  std::int32_t most_in_a_square = 8;  // visibly different pixels
  // A channel that differs by more than this is not the same; the share of all pixels that may.
  std::int32_t same = 6;
  double most_of_all = 0.01;
};

struct ImageDifference {
  // "squares of 16x16 with more than 8 other pixels: 3, the first at 32, 48". Empty: close enough.
  std::string words;
  // The expected picture, pale, with differing pixels in red.
  Image marked;
};

ImageDifference difference_of(const Image& expected, const Image& actual,
                              const ImageTolerance& tolerance);

}  // namespace hybridscope::test
