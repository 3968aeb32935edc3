// A few rows of a state as a warp holds them: in registers while tokens are folded, in shared
// memory while it comes from its block and while a lane's registers are needed for other things.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/cuda/bulk_copy.cuh"
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

// What a warp holds: rows [first, first + count) of a head. A thread has kThreadRows of them, and
// kElements elements of each: kLanes of every 32.
template <int kPartRows, int kChunks, Fit kFit>
struct Part {
  static constexpr bool kIsWhole = kFit == Fit::whole;
  static constexpr int kLanes = kIsWhole ? 4 : 1;
  static constexpr int kRows = kPartRows;
  static constexpr int kThreadRows = kRows / kLanes;
  static constexpr int kElements = kChunks * kLanes;
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
  // Of a value that each thread has for its own row: that of the thread's row r.
  __device__ float of_row(float own, int r) const {
    return __shfl_sync(kWholeWarp, own, Sums::thread_of(lane, r));
  }

  // Where the thread's elements begin in a row.
  __device__ int first_element() const { return lane % Sums::kThreads * kLanes; }
  // Behind there.
  __device__ static constexpr int element(int k) { return k / kLanes * kWarp + k % kLanes; }
  __device__ bool has(int k) const { return kIsWhole || first_element() + element(k) < n; }
  __device__ float masked(int k, float term) const { return has(k) ? term : 0.0F; }

  // Of a vector [kWarp * kChunks] in shared memory.
  __device__ void read(const float* vector, float (&values)[kElements]) const {
    const float* own = vector + first_element();
#pragma unroll
    for (int k = 0; k < kElements; k += kLanes) {
      const auto pack = *reinterpret_cast<const Pack<float, kLanes>*>(own + element(k));
#pragma unroll
      for (int i = 0; i < kLanes; ++i) values[k + i] = pack.values[i];
    }
  }

  // Of the part's first row in a matrix [heads, head_rows, n].
  __device__ std::int64_t offset(const MatrixShape& shape) const {
    const int size = kIsWhole ? kWarp * kChunks : shape.n;
    return (static_cast<std::int64_t>(head) * shape.head_rows + first) * size;
  }
};

inline constexpr int kPieceBytes = 16;  // of an asynchronous copy

__device__ inline void copy_piece(void* shared, const void* global) {
  const auto to = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}
__device__ inline void wait_for_pieces() {
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncwarp();
}

// Row r of a thread, of a part's rows that lie `stride` elements apart in any memory.
template <class PartOf>
using RowElements = float[PartOf::kElements];

template <class PartOf, class T>
__device__ T* row_of(T* rows, int stride, int r, const PartOf& part) {
  return rows + part.row(0) * stride + part.first_element() + r * PartOf::kLanes * stride;
}

template <class PartOf, class T>
__device__ void load_row(RowElements<PartOf>& row, const T* from, int r, const PartOf& part) {
  constexpr int kLanes = PartOf::kLanes;
#pragma unroll
  for (int k = 0; k < PartOf::kElements; k += kLanes) {
    Pack<T, kLanes> pack{};
    if (part.has_row(r) && part.has(k))
      pack = *reinterpret_cast<const Pack<T, kLanes>*>(from + PartOf::element(k));
#pragma unroll
    for (int i = 0; i < kLanes; ++i) row[k + i] = to_float(pack.values[i]);
  }
}

template <class PartOf, class T>
__device__ void store_row(const RowElements<PartOf>& row, T* to, int r, const PartOf& part) {
  constexpr int kLanes = PartOf::kLanes;
#pragma unroll
  for (int k = 0; k < PartOf::kElements; k += kLanes) {
    Pack<T, kLanes> pack;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) pack.values[i] = from_float<T>(row[k + i]);
    if (part.has_row(r) && part.has(k))
      *reinterpret_cast<Pack<T, kLanes>*>(to + PartOf::element(k)) = pack;
  }
}

// The state of a warp's part, in shared memory: as T as it came from its block or goes to one, and
// in float32 while tokens follow. All lanes call its functions together; but for whole copies, a
// lane reads what it has written itself.
template <class PartOf, class T>
class StateSlab {
 public:
  static constexpr int kStride = PartOf::kElements / PartOf::kLanes * kWarp;
  static constexpr int kSize = PartOf::kRows * kStride;
  static constexpr bool kIsFloat = std::is_same_v<T, float>;

  // `staged`, `kept`: [kSize] in shared memory. `kept` is used where T is another type than float32
  // and a row has several tokens.
  __device__ StateSlab(T* staged, float* kept) : staged_(staged) {
    if constexpr (kIsFloat)
      kept_ = staged;
    else
      kept_ = kept;
  }

  // The part's rows of a block, `stride` elements apart; null: zeros. Whole parts are copied while
  // the warp goes on; wait() before they are read.
  __device__ void begin(const T* rows, int stride, const PartOf& part) const {
    if (PartOf::kIsWhole && rows != nullptr) {
      constexpr int kPieces = kSize * static_cast<int>(sizeof(T)) / kPieceBytes / kWarp;
      const int at = part.lane * kPieceBytes;
      char* to = reinterpret_cast<char*>(staged_) + at;
      const char* from = reinterpret_cast<const char*>(rows) + at;
#pragma unroll
      for (int i = 0; i < kPieces; ++i)
        copy_piece(to + i * kWarp * kPieceBytes, from + i * kWarp * kPieceBytes);
      return;
    }
#pragma unroll
    for (int r = 0; r < PartOf::kThreadRows; ++r) {
      RowElements<PartOf> row = {};
      if (rows != nullptr) load_row(row, row_of(rows, stride, r, part), r, part);
      store_row(row, row_of(staged_, kStride, r, part), r, part);
    }
  }
  __device__ void wait() const {
    if constexpr (PartOf::kIsWhole) wait_for_pieces();
  }
  // What begin() brought.
  __device__ void load_staged(RowElements<PartOf>& row, int r, const PartOf& part) const {
    load_row(row, row_of(static_cast<const T*>(staged_), kStride, r, part), r, part);
  }
  __device__ void stage(const RowElements<PartOf>& row, int r, const PartOf& part) const {
    store_row(row, row_of(staged_, kStride, r, part), r, part);
  }
  // What keep() was given.
  __device__ void load_kept(RowElements<PartOf>& row, int r, const PartOf& part) const {
    load_row(row, row_of(static_cast<const float*>(kept_), kStride, r, part), r, part);
  }
  __device__ void keep(const RowElements<PartOf>& row, int r, const PartOf& part) const {
    store_row(row, row_of(kept_, kStride, r, part), r, part);
  }
  // Copies what was staged to the rows of a block while the warp goes on; whole parts only. No row
  // may be staged before wait_until_stored().
  __device__ void store_staged(T* rows, const PartOf& part) const {
    bulk::fence_init();  // of what this lane has staged
    __syncwarp();
    if (part.lane != 0) return;
    bulk::store(rows, staged_, kSize * sizeof(T));
    bulk::commit();
  }
  __device__ static void wait_until_stored(const PartOf& part) {
    if (part.lane == 0) bulk::wait_read<0>();
    __syncwarp();
  }

 private:
  T* staged_;
  float* kept_;
};

// Can the bulk copy engine write the rows of whole parts?
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kHasEngine = false;
#else
inline constexpr bool kHasEngine = true;
#endif

// What a step does to the state: reads rows, and writes them where they go.
template <class PartOf, class T, bool kIsFirst>
struct FoldedRows {
  static constexpr bool kIsFloat = StateSlab<PartOf, T>::kIsFloat;
  static constexpr bool kByEngine = kHasEngine && PartOf::kIsWhole;

  StateSlab<PartOf, T> slab;
  T* block = nullptr;  // the part's rows in a block; null: in none
  int stride = 0;      // of the block's rows
  bool keeps = false;  // for the next token

  __device__ void load(RowElements<PartOf>& row, int r, const PartOf& part) const {
    if constexpr (kIsFirst || kIsFloat)
      slab.load_staged(row, r, part);
    else
      slab.load_kept(row, r, part);
  }
  __device__ void store(const RowElements<PartOf>& row, int r, const PartOf& part) const {
    if constexpr (kByEngine)
      slab.stage(row, r, part);
    else if (block != nullptr)
      store_row(row, row_of(block, stride, r, part), r, part);
    if (keeps && !(kByEngine && kIsFloat)) slab.keep(row, r, part);
  }
  // Before and after a token is folded.
  __device__ void begin(const PartOf& part) const {
    if constexpr (kByEngine && !kIsFirst) StateSlab<PartOf, T>::wait_until_stored(part);
  }
  __device__ void end(const PartOf& part) const {
    if constexpr (kByEngine)
      if (block != nullptr) slab.store_staged(block, part);
  }
};

}  // namespace hybridscope::numeric_cuda
