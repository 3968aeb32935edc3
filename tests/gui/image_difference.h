// How a picture differs from the one that is expected: what another version of the renderer may
// do to it passes, what a person would see does not.
#pragma once

#include <cstdint>
#include <string>

#include "gui/surface.h"

namespace hybridscope::test {

struct ImageTolerance {
  // A channel that differs by more than this is seen. Edges that are drawn a little differently
  // are few in each square, but a mark of an element is not.
  std::int32_t seen = 24;
  std::int32_t square = 16;           // pixels along a side
  std::int32_t most_in_a_square = 8;  // that are seen
  // One that differs by more than this is not the same; of all pixels so many may.
  std::int32_t same = 6;
  double most_of_all = 0.01;
};

struct ImageDifference {
  // Empty: near enough. "squares of 16x16 with more than 8 other pixels: 3, the first at 32, 48".
  std::string words;
  // The expected picture, pale, with differing pixels in red.
  Image marked;
};

ImageDifference difference_of(const Image& expected, const Image& actual,
                              const ImageTolerance& tolerance);

}  // namespace hybridscope::test
