// Lists of lists of integers in a test vector.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/tensor_view.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The most elements that one case may ask to allocate: sizes in a vector are not trusted.
inline constexpr std::int64_t kMaxVectorElements = std::int64_t{1} << 21;

// A table whose rows have equal length, stored row by row.
struct VectorTable {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int32_t> data;  // [rows, cols]

  TensorView<std::int32_t> view() const { return matrix_view(data.data(), rows, cols); }
};

// An array of equally long arrays of integers.
VectorTable read_table(const JsonValue& value);
// An array of this shape, [rows, cols]: an empty one does not show its columns.
VectorTable read_table(const JsonValue& value, const JsonValue& shape);

}  // namespace hybridscope
