// Whole rows of a state in shared memory, between their blocks and the threads of a warp: copied in
// by asynchronous copies, and out by the bulk copy engine of sm_90 (on sm_80 by the warp).
#pragma once

#include <cstdint>

#include "kernels/cuda/bulk_copy.cuh"
#include "kernels/numeric/row_part.cuh"

namespace hybridscope::numeric_cuda {

inline constexpr int kPieceBytes = 16;  // of an asynchronous copy

// Can the bulk copy engine write rows?
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr bool kHasEngine = false;
#else
inline constexpr bool kHasEngine = true;
#endif

// All lanes call its functions together.
template <class PartOf, class T>
class StagedRows {
 public:
  static_assert(PartOf::kIsWhole);
  static constexpr int kRowElements = kWarp * PartOf::kChunks;
  static constexpr int kSize = PartOf::kRows * kRowElements;

  __device__ explicit StagedRows(T* memory) : memory_(memory) {}  // [kSize]

  // Copies rows that lie side by side while the warp goes on; null: zeros.
  __device__ void begin(const T* rows, const PartOf& part) const {
    T* to = memory_ + own_piece(part);
    if (rows == nullptr) {
#pragma unroll
      for (int i = 0; i < kPieces; ++i) *reinterpret_cast<uint4*>(to + i * kPassElements) = {};
    } else {
      const T* from = rows + own_piece(part);
#pragma unroll
      for (int i = 0; i < kPieces; ++i)
        copy_piece(to + i * kPassElements, from + i * kPassElements);
    }
  }
  __device__ static void wait() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
  }

  // The thread's elements of chunk c in its row r. Writing: not before what store() was given has
  // been read.
  __device__ void read(float (&values)[PartOf::kLanes], int r, int c, const PartOf& part) const {
    unpack(*at(r, c, part), values);
  }
  __device__ void write(const float (&values)[PartOf::kLanes], int r, int c,
                        const PartOf& part) const {
    *at(r, c, part) = packed<T>(values);
  }

  // Copies the rows out, while the warp goes on where there is an engine.
  __device__ void store(T* rows, const PartOf& part) const {
    if constexpr (kHasEngine) {
      bulk::fence_init();  // of what this lane has written
      __syncwarp();
      if (part.lane == 0) bulk::store(rows, memory_, kSize * sizeof(T));
      bulk::commit();
    } else {
      __syncwarp();
      const T* from = memory_ + own_piece(part);
      T* to = rows + own_piece(part);
#pragma unroll
      for (int i = 0; i < kPieces; ++i)
        *reinterpret_cast<uint4*>(to + i * kPassElements) =
            *reinterpret_cast<const uint4*>(from + i * kPassElements);
    }
  }
  // Waits until all but the last kPending stores have read their rows.
  template <int kPending>
  __device__ static void wait_until_stored() {
    if constexpr (kHasEngine) bulk::wait_read<kPending>();
    __syncwarp();
  }

 private:
  static constexpr int kPieceElements = kPieceBytes / static_cast<int>(sizeof(T));
  static constexpr int kPassElements = kWarp * kPieceElements;  // when each lane copies a piece
  static_assert(kSize % kPassElements == 0);
  static constexpr int kPieces = kSize / kPassElements;  // of a lane

  __device__ static int own_piece(const PartOf& part) { return part.lane * kPieceElements; }
  __device__ static void copy_piece(T* shared, const T* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(bulk::shared_address(shared)),
                 "l"(global)
                 : "memory");
  }
  __device__ Pack<T, PartOf::kLanes>* at(int r, int c, const PartOf& part) const {
    T* own = memory_ + part.row(0) * kRowElements + part.element(0);
    return reinterpret_cast<Pack<T, PartOf::kLanes>*>(own + r * PartOf::kLanes * kRowElements +
                                                      c * kWarp);
  }

  T* memory_;
};

}  // namespace hybridscope::numeric_cuda
