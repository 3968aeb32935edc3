// How the rows of a state are shared out: to warps in parts, and a part's elements to threads.
#pragma once

#include <cstdint>

#include "kernels/numeric/state_elements.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

struct MatrixShape {
  std::int32_t heads = 0;
  std::int32_t head_rows = 0;
  std::int32_t n = 0;  // elements of a row
};

// Whole: n = 32 * kChunks and every part has kRows rows, so that nothing is masked; a thread takes
// kLanes elements side by side, all of which are aligned for it.
enum class Fit : std::uint8_t { whole, partial };

// What a warp has: rows [first, first + count) of a head. A row is cut into chunks of 32 elements.
// A thread has kThreadRows of the rows, and kLanes elements of each of their chunks.
template <int kPartRows, int kPartChunks, Fit kFit>
struct Part {
  static constexpr bool kIsWhole = kFit == Fit::whole;
  static constexpr int kLanes = kIsWhole ? 4 : 1;
  static constexpr int kRows = kPartRows;
  static constexpr int kChunks = kPartChunks;
  static constexpr int kThreadRows = kRows / kLanes;
  using Sums = RowSums<kThreadRows, kLanes>;

  std::int32_t head = 0;
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t n = 0;
  int lane = 0;

  // Row r of the thread, among those of the part.
  __device__ int row(int r) const { return r * kLanes + lane / Sums::kThreads; }
  __device__ bool has_row(int r) const { return kIsWhole || row(r) < count; }
  // The row whose output the thread has; the first of its threads writes it.
  __device__ int own_row() const { return row(Sums::own(lane)); }
  __device__ bool has_own_row() const { return has_row(Sums::own(lane)); }
  __device__ bool writes() const {
    return lane == Sums::thread_of(lane, Sums::own(lane)) && has_own_row();
  }
  // Each thread has a value for its own row; returns the one for the thread's row r.
  __device__ float of_row(float own, int r) const {
    return __shfl_sync(kWholeWarp, own, Sums::thread_of(lane, r));
  }

  // Where the thread's elements of chunk c begin in a row.
  __device__ int element(int c) const { return lane % Sums::kThreads * kLanes + c * kWarp; }
  __device__ bool has(int c) const { return kIsWhole || element(c) < n; }
  __device__ float masked(int c, float term) const { return has(c) ? term : 0.0F; }

  // The thread's elements of chunk c of a vector [kWarp * kChunks] in shared memory.
  __device__ void read(const float* vector, int c, float (&values)[kLanes]) const {
    unpack(*reinterpret_cast<const Pack<float, kLanes>*>(vector + element(c)), values);
  }

  // Where the part's first row begins in a matrix [heads, head_rows, n].
  __device__ std::int64_t offset(const MatrixShape& shape) const {
    const int size = kIsWhole ? kWarp * kChunks : shape.n;
    return (static_cast<std::int64_t>(head) * shape.head_rows + first) * size;
  }
};

}  // namespace hybridscope::numeric_cuda
