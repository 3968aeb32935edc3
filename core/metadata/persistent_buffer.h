// An array that a captured CUDA graph reads: allocated once, written by the builds that take the
// graph branch, and read from its first element on. Rows that no build wrote keep what they had.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/tensor_view.h"

namespace hybridscope {

// Element of a persistent int32 array that no build has written yet.
inline constexpr std::int32_t kNeverWritten = std::numeric_limits<std::int32_t>::min();

template <class T>
struct PersistentBuffer {
  std::vector<T> values;
  std::int32_t rows = 0;
  std::int32_t cols = 1;
  std::int32_t dims = 1;

  static PersistentBuffer vector_of(std::int32_t size, T initial) {
    return {std::vector<T>(static_cast<std::size_t>(size), initial), size, 1, 1};
  }
  static PersistentBuffer matrix_of(std::int32_t rows, std::int32_t cols, T initial) {
    const auto size = static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols);
    return {std::vector<T>(size, initial), rows, cols, 2};
  }

  T* row(std::int32_t r) { return values.data() + static_cast<std::int64_t>(r) * cols; }

  // The first min(n, rows) rows, as the reference's slice [:n].
  TensorView<T> head(std::int32_t n) const {
    return {values.data(), std::min(n, rows), cols, dims, true};
  }

  // Sets rows [first, last) that exist, as a fill of the slice [first:last].
  void fill_rows(std::int32_t first, std::int32_t last, T value) {
    last = std::min(last, rows);
    if (first < last) std::fill(row(first), row(last), value);
  }
};

// The first min(n, rows) elements of a vector, as the slice [:n].
inline TensorView<std::int32_t> slice_head(const TensorView<std::int32_t>& vector, std::int32_t n) {
  return vector_view(vector.data, std::min(n, vector.rows));
}

// Scratch that only grows: no allocation once the largest batch has been seen. Contents beyond what
// the caller writes are unspecified.
template <class T>
T* grown(std::vector<T>& scratch, std::int64_t size) {
  if (static_cast<std::int64_t>(scratch.size()) < size)
    scratch.resize(static_cast<std::size_t>(size));
  return scratch.data();
}

}  // namespace hybridscope
