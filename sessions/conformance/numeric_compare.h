// Compares arrays of floats with those of a vector: bit for bit, or within tolerances.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sessions/conformance/compare.h"

namespace hybridscope {

// Two stretches of equal length: a token's outputs, or a block.
struct ComparedFloats {
  std::string place;
  std::span<const float> expected;
  std::span<const float> got;
};

// |got - expected| <= absolute max(1, largest expected) + relative |expected|, and the root mean
// square of the errors to that of the values.
struct FloatTolerance {
  double relative = 0;
  double absolute = 0;
  double error_ratio = 0;  // 0: not compared
};

// NaN equals NaN.
std::optional<VectorDifference> differing_bits(std::span<const ComparedFloats> parts);
// The parts are one tensor.
std::optional<VectorDifference> differing_values(std::span<const ComparedFloats> parts,
                                                 const FloatTolerance& tolerance);
// For elementwise functions, where a large output says nothing about how exact a small one is:
// |got - expected| <= relative |expected| + the smallest normal float, for each value.
std::optional<VectorDifference> differing_elements(std::span<const ComparedFloats> parts,
                                                   double relative);

}  // namespace hybridscope
