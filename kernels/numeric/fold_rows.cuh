// Recurrences whose state is a matrix of rows that are read out along their elements: [heads,
// head_rows, n] of a block. A warp keeps a few rows in shared memory while the tokens of a batch's
// row run, in the order of OrderedSum. The warps of a block have rows of one head; what a token
// means to all of them one warp prepares.
//
// A Step is a kind of layer. It has a PartOf, what a warp holds, and
//   Fixed fixed(part): what a warp needs for all tokens
//   void prepare(prepared, token, head, lane): by a warp, what all parts need of a token; in shared
//     memory, zeros behind the end of vectors
//   Own own(token, part): what a thread reads for its own row (part.own_row())
//   float fold(rows, prepared, own, fixed, part): folds a token into FoldedRows, returns the output
//     of the thread's own row
//   float* output(token, part): where it goes
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/cuda/cuda_check.h"
#include "kernels/numeric/row_walks.cuh"
#include "kernels/numeric/state_elements.cuh"
#include "kernels/numeric/state_slab.cuh"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

template <class Step, class Rows, class T>
struct FoldTask {
  Step step;
  Rows rows;
  DevicePool<T> pool;
  MatrixShape shape;
  std::int32_t num_tokens = 0;
  bool reads_states = true;
  int blocks_of_head = 0;  // set by the launch
};

inline constexpr int kMostWarps = 4;  // of a block
inline constexpr int kBlocks = 5;     // of a multiprocessor, which bounds registers
inline constexpr int kWholeRows = 16;

// Rows whose blocks of threads run side by side. Memory is fastest where neighbouring parts of one
// row run together, but half as many bytes wait longer for what all of a row's parts read.
template <class T>
inline constexpr int kRowsTogether = sizeof(T) == sizeof(float) ? 1 : 8;

// Dynamic shared memory: for every warp what it stages and, where it needs that, keeps of a state,
// and what it prepares.
template <class Step, class T>
class FoldShared {
 public:
  using Slab = StateSlab<typename Step::PartOf, T>;
  using Prepared = typename Step::Prepared;

  __device__ FoldShared(char* memory, int num_warps)
      : prepared_(reinterpret_cast<Prepared*>(memory)),
        staged_(reinterpret_cast<T*>(prepared_ + num_warps)),
        kept_(reinterpret_cast<float*>(staged_ + num_warps * Slab::kSize)) {}
  __device__ Slab slab(int warp) const {
    return {staged_ + warp * Slab::kSize, kept_ + warp * Slab::kSize};
  }
  __device__ Prepared& prepared(int warp) const { return prepared_[warp]; }

  // `keeps`: may a row have several tokens?
  static std::size_t bytes(int num_warps, bool keeps) {
    const std::size_t kept = keeps && !Slab::kIsFloat ? sizeof(float) : 0;
    return static_cast<std::size_t>(num_warps) *
           (sizeof(Prepared) + Slab::kSize * (sizeof(T) + kept));
  }

 private:
  static_assert(sizeof(Prepared) % kPieceBytes == 0);

  Prepared* prepared_;
  T* staged_;
  float* kept_;
};

template <class Rows>
bool has_many_tokens(const Rows& rows) {
  return !rows.query_start_loc.empty();
}

template <class Step, class Rows, class T>
__device__ void zero_outputs(const FoldTask<Step, Rows, T>& task, const BatchTokens& tokens,
                             const typename Step::PartOf& part) {
  if (!part.writes()) return;
  for (std::int32_t token = tokens.first; token < tokens.last; ++token)
    *task.step.output(token, part) = 0.0F;
}

// A block for some parts of a head of each row, and of the tokens behind the rows.
template <class Step, class Rows, class T>
__global__ void __launch_bounds__(kMostWarps* kWarp, kBlocks)
    fold_rows(const __grid_constant__ FoldTask<Step, Rows, T> task) {
  using PartOf = typename Step::PartOf;
  using Slab = StateSlab<PartOf, T>;
  extern __shared__ __align__(16) char memory[];
  const int num_warps = static_cast<int>(blockDim.x) / kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const FoldShared<Step, T> shared(memory, num_warps);
  const Slab slab = shared.slab(warp);
  const int blocks_of_row = task.shape.heads * task.blocks_of_head;
  const int of_group = static_cast<int>(blockIdx.x) % (blocks_of_row * kRowsTogether<T>);
  const std::int32_t row =
      static_cast<int>(blockIdx.x) / (blocks_of_row * kRowsTogether<T>)*kRowsTogether<T> +
      of_group % kRowsTogether<T>;
  if (row > task.rows.num_rows()) return;
  const std::int32_t of_row = of_group / kRowsTogether<T>;
  PartOf part;
  part.head = of_row / task.blocks_of_head;
  part.first = (of_row % task.blocks_of_head * num_warps + warp) * PartOf::kRows;
  part.count = min(PartOf::kRows, task.shape.head_rows - part.first);
  part.n = task.shape.n;
  part.lane = lane_of_thread();
  if (row == task.rows.num_rows())
    return zero_outputs(task, {end_of_rows(task.rows), task.num_tokens}, part);
  RowWalk<Rows> walk(task.rows, row, task.reads_states);
  const BatchTokens tokens = walk.tokens();
  if (!walk.runs()) return zero_outputs(task, tokens, part);

  // A warp without rows only prepares tokens.
  const bool has_rows = part.count > 0;
  const int stride = PartOf::kIsWhole ? Slab::kStride : task.shape.n;
  // The part's rows of a block; null: it is none.
  const auto rows_of = [&, offset = part.offset(task.shape)](std::int32_t block) {
    return is_state_block(block) ? task.pool.block(block) + offset : nullptr;
  };
  if (has_rows) slab.begin(rows_of(walk.source()), stride, part);
  const auto fixed = task.step.fixed(part);
#pragma unroll 1
  for (std::int32_t begin = 0; begin < tokens.size(); begin += num_warps) {
    const int count = min(num_warps, tokens.size() - begin);
    const std::int32_t first = tokens.first + begin;
    auto own = task.step.own(first, part);
    if (begin > 0) __syncthreads();  // the last tokens have been folded
    if (warp < count) task.step.prepare(shared.prepared(warp), first + warp, part.head, part.lane);
    __syncthreads();
    if (!has_rows) continue;
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      const std::int32_t t = begin + i;
      const auto now = own;
      if (i + 1 < count) own = task.step.own(first + i + 1, part);
      T* block = rows_of(walk.after(t));
      const bool keeps = t + 1 < tokens.size() || is_state_block(walk.last());
      if (t == 0) slab.wait();
      const auto fold = [&](const auto& rows) {
        rows.begin(part);
        const float folded = task.step.fold(rows, shared.prepared(i), now, fixed, part);
        rows.end(part);
        return folded;
      };
      const float output = t == 0 ? fold(FoldedRows<PartOf, T, true>{slab, block, stride, keeps})
                                  : fold(FoldedRows<PartOf, T, false>{slab, block, stride, keeps});
      if (part.writes()) *task.step.output(first + i, part) = output;
    }
  }
  if (!has_rows) return;
  if constexpr (kHasEngine && PartOf::kIsWhole) Slab::wait_until_stored(part);
  T* last = rows_of(walk.last());
  if (last == nullptr) return;
  if (tokens.size() <= 0) slab.wait();
#pragma unroll 1
  for (int r = 0; r < PartOf::kThreadRows; ++r) {
    RowElements<PartOf> values;
    if (tokens.size() > 0)
      slab.load_kept(values, r, part);
    else
      slab.load_staged(values, r, part);
    store_row(values, row_of(last, stride, r, part), r, part);
  }
}

template <class Step, class Rows, class T>
Status launch_fold(FoldTask<Step, Rows, T> task, CUstream_st* stream) {
  const int parts = (task.shape.head_rows + Step::PartOf::kRows - 1) / Step::PartOf::kRows;
  const int num_warps = std::min(parts, kMostWarps);
  task.blocks_of_head = (parts + num_warps - 1) / num_warps;
  const int groups = task.rows.num_rows() / kRowsTogether<T> + 1;
  const auto blocks = static_cast<unsigned int>(groups * kRowsTogether<T>) *
                      static_cast<unsigned int>(task.shape.heads * task.blocks_of_head);
  const std::size_t bytes = FoldShared<Step, T>::bytes(num_warps, has_many_tokens(task.rows));
  if (Status status = cuda_status(cudaFuncSetAttribute(fold_rows<Step, Rows, T>,
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(bytes)),
                                  "shared memory of a recurrence");
      !status)
    return status;
  fold_rows<<<blocks, static_cast<unsigned int>(num_warps * kWarp), bytes, stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of a recurrence");
}

// Does an address begin a piece of kPieceBytes?
inline bool is_piece(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kPieceBytes == 0;
}
// Do all blocks?
template <class T>
bool has_whole_pieces(const DevicePool<T>& pool) {
  return is_piece(pool.data) &&
         pool.block_elements * static_cast<std::int64_t>(sizeof(T)) % kPieceBytes == 0;
}

// `step`: the arguments of Step's aggregate. Error: n above kMostElements.
inline constexpr std::int32_t kMostElements = 256;
template <template <int, int, Fit> class Step, class Rows, class T, class... Args>
Status launch_fold_of(const MatrixShape& shape, const Rows& rows, const DevicePool<T>& pool,
                      std::int32_t num_tokens, bool reads_states, CUstream_st* stream,
                      const Args&... step) {
  const auto launch = [&]<class Chosen>(const Chosen& chosen) {
    return launch_fold(
        FoldTask<Chosen, Rows, T>{chosen, rows, pool, shape, num_tokens, reads_states}, stream);
  };
  if (shape.n == 4 * kWarp && shape.head_rows % kWholeRows == 0 && has_whole_pieces(pool))
    return launch(Step<kWholeRows, 4, Fit::whole>{step...});
  if (shape.n <= kWarp) return launch(Step<8, 1, Fit::partial>{step...});
  if (shape.n <= 2 * kWarp) return launch(Step<8, 2, Fit::partial>{step...});
  if (shape.n <= 4 * kWarp) return launch(Step<8, 4, Fit::partial>{step...});
  if (shape.n <= kMostElements) return launch(Step<4, 8, Fit::partial>{step...});
  return invalid_input("a state of " + std::to_string(shape.n) +
                       " elements a row; kernels take up to " + std::to_string(kMostElements));
}

}  // namespace hybridscope::numeric_cuda
