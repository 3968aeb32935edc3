// Inputs of the benches of layer kernels: random values and rows of random blocks on the device.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "bench/kernels/gpu_timing.h"
#include "core/numeric/state_rows.h"

namespace hybridscope {

// Device memory that its object owns.
template <class T>
class BenchArray {
 public:
  explicit BenchArray(std::int64_t size) : size_(static_cast<std::size_t>(size)) {
    void* memory = nullptr;
    must(cudaMalloc(&memory, std::max<std::size_t>(size_, 1) * sizeof(T)), "cudaMalloc");
    data_ = static_cast<T*>(memory);
  }
  explicit BenchArray(const std::vector<T>& values)
      : BenchArray(static_cast<std::int64_t>(values.size())) {
    must(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  BenchArray(const BenchArray&) = delete;
  BenchArray& operator=(const BenchArray&) = delete;
  ~BenchArray() { must(cudaFree(data_), "cudaFree"); }

  std::span<T> span() const { return {data_, size_}; }
  // Part `index` of parts of `size` elements.
  std::span<T> part(std::int64_t index, std::int64_t size) const {
    return span().subspan(static_cast<std::size_t>(index * size), static_cast<std::size_t>(size));
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

// float32, or bfloat16 as its bits.
template <class T>
T bench_element(float value);
template <>
inline float bench_element<float>(float value) {
  return value;
}
template <>
inline std::uint16_t bench_element<std::uint16_t>(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

// Random values of [-1, 1); large arrays repeat 16 Mi of them.
template <class T>
void fill_random(std::span<T> array) {
  std::mt19937 random(20261127);
  std::uniform_real_distribution<float> numbers(-1.0F, 1.0F);
  std::vector<T> values(std::min<std::size_t>(array.size(), std::size_t{1} << 24));
  for (T& value : values) value = bench_element<T>(numbers(random));
  for (std::size_t first = 0; first < array.size(); first += values.size()) {
    const std::size_t count = std::min(values.size(), array.size() - first);
    must(cudaMemcpy(array.data() + first, values.data(), count * sizeof(T), cudaMemcpyHostToDevice),
         "cudaMemcpy");
  }
}
template <class T>
class RandomArray : public BenchArray<T> {
 public:
  explicit RandomArray(std::int64_t size) : BenchArray<T>(size) { fill_random(this->span()); }
};

// Decode rows (num_drafts 0) or verify rows whose columns are distinct blocks from `first_block`
// on, in random order; accepted counts are random.
class BenchRows {
 public:
  BenchRows(std::int32_t num_rows, std::int32_t num_drafts, std::int32_t first_block)
      : num_rows_(num_rows),
        columns_(1 + num_drafts),
        table_(random_blocks(num_rows * columns_, first_block)),
        starts_(row_starts(num_rows, columns_)),
        accepted_(random_counts(num_rows, columns_)) {}

  DecodeRows rows() const {
    DecodeRows rows{.state_indices =
                        matrix_view<std::int32_t>(table_.span().data(), num_rows_, columns_)};
    if (columns_ == 1) return rows;
    rows.query_start_loc = starts_.span();
    rows.num_accepted_tokens = accepted_.span();
    return rows;
  }

 private:
  static std::vector<std::int32_t> random_blocks(std::int32_t count, std::int32_t first) {
    std::vector<std::int32_t> blocks(static_cast<std::size_t>(count));
    std::iota(blocks.begin(), blocks.end(), first);
    std::ranges::shuffle(blocks, std::mt19937(17));
    return blocks;
  }
  static std::vector<std::int32_t> row_starts(std::int32_t num_rows, std::int32_t tokens) {
    std::vector<std::int32_t> starts;
    for (std::int32_t row = 0; row <= num_rows; ++row) starts.push_back(row * tokens);
    return starts;
  }
  static std::vector<std::int32_t> random_counts(std::int32_t num_rows, std::int32_t most) {
    std::mt19937 random(5);
    std::vector<std::int32_t> counts;
    for (std::int32_t row = 0; row < num_rows; ++row)
      counts.push_back(std::uniform_int_distribution<std::int32_t>(1, most)(random));
    return counts;
  }

  std::int32_t num_rows_;
  std::int32_t columns_;
  BenchArray<std::int32_t> table_, starts_, accepted_;
};

}  // namespace hybridscope
