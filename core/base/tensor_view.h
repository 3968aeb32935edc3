// A read-only, non-owning, row-major array of one or two dimensions; absent stands for the
// reference's None.
#pragma once

#include <cstdint>

#include "core/base/math.h"

namespace hybridscope {

template <class T>
struct TensorView {
  const T* data = nullptr;
  std::int32_t rows = 0;  // size of dimension 0
  std::int32_t cols = 1;  // size of dimension 1; 1 for a vector
  std::int32_t dims = 1;  // 1 or 2
  bool present = false;   // false: None

  HS_HOST_DEVICE T at(std::int32_t row, std::int32_t col = 0) const {
    return data[static_cast<std::int64_t>(row) * cols + col];
  }
  HS_HOST_DEVICE std::int64_t size() const { return static_cast<std::int64_t>(rows) * cols; }
};

// A vector of `size` elements.
template <class T>
TensorView<T> vector_view(const T* data, std::int32_t size) {
  return {data, size, 1, 1, true};
}

// A matrix [rows, cols].
template <class T>
TensorView<T> matrix_view(const T* data, std::int32_t rows, std::int32_t cols) {
  return {data, rows, cols, 2, true};
}

}  // namespace hybridscope
