// Arrays of floats in vectors of real recurrences: tensors, and pools of blocks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/numeric/state_rows.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// {"shape": [...], "f32": base64}: little-endian, row-major.
struct NumericTensor {
  std::vector<std::int32_t> shape;
  std::vector<float> data;

  // Throws when there are fewer dimensions.
  std::int32_t size(std::size_t dimension) const { return shape.at(dimension); }
};
// Throws JsonFault for another length than the shape's, and for more than kMaxVectorElements.
NumericTensor read_numeric_tensor(const JsonValue& value);
// Reads a tensor that must have that many dimensions.
NumericTensor read_numeric_tensor(const JsonValue& value, std::size_t dimensions);
// Reads a tensor or null, which gives an empty one.
NumericTensor read_optional_tensor(const JsonValue& value);

// Floats of a base64 text. A non-negative `length` is the required number.
std::vector<float> read_floats(const JsonValue& base64, std::int64_t length);

// {"shape": [blocks, ...], "blocks": {"3": base64}}: every other block is NaN.
struct NumericPool {
  std::vector<std::int32_t> shape;
  std::vector<float> data;

  std::int64_t block_elements() const;
  StatePool view() { return {data, block_elements()}; }
};
NumericPool read_numeric_pool(const JsonValue& value);
// Reads a pool whose shape must have these dimensions behind the number of blocks.
NumericPool read_numeric_pool(const JsonValue& value, const std::vector<std::int32_t>& block);

}  // namespace hybridscope
