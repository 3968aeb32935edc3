// Recurrences whose state is a matrix of rows that are read out along their elements: [heads,
// head_rows, n] of a block. The warps of a block of threads have parts of one head's rows and fold
// the tokens of a batch's row into them, in the order of OrderedSum. What a token means to all of
// them they prepare together, in shared memory.
//
// A Step is a kind of layer. It has a PartOf, what a warp has of a state, kRowsTogether<T>, rows
// whose blocks of threads run side by side (as measured), and
//   Fixed fixed(part): what a warp needs for all tokens
//   Loaded load(tokens, head, team), void prepare(prepared, loaded, tokens, head, team): by all
//     warps, what all parts need of some tokens; zeros behind the end of vectors. Between the two
//     other loads begin.
//   Own own(token, part): what a thread reads for its own row (part.own_row())
//   float fold(state, prepared, own, fixed, part): folds a token into a state (state_part.cuh),
//     returns the output of the thread's own row
//   float* output(token, part): where it goes
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/pool_rows.cuh"
#include "kernels/numeric/state_part.cuh"
#include "kernels/numeric/team.cuh"

namespace hybridscope::numeric_cuda {

template <class Step, class Rows, class T>
struct FoldTask {
  Step step;
  Rows rows;
  DevicePool<T> pool;
  MatrixShape shape;
  std::int32_t num_tokens = 0;
  bool reads_states = true;
  std::int32_t first_row = 0;  // of a launch
};

// Rows of a warp's part: shared memory bounds those of float32.
template <class T>
inline constexpr int kWholeRows = sizeof(T) == sizeof(float) ? 8 : 16;

// Blocks of a multiprocessor, which bounds registers.
template <class PartOf, class T, bool kMany>
constexpr int fold_blocks() {
  if (!PartOf::kIsWhole) return 5;
  return kMany ? 4 : 6;
}

// Dynamic shared memory: what is prepared of some tokens, and every warp's part of a state.
template <class Step, class T, bool kMany>
struct FoldShared {
  using Prepared = typename Step::Prepared;
  using State = typename StateOfPart<typename Step::PartOf, T, kMany>::Type;
  static constexpr int kTokens = kMany ? 3 : 1;  // prepared together

  Prepared* prepared;
  char* states;

  __device__ explicit FoldShared(char* memory)
      : prepared(reinterpret_cast<Prepared*>(memory)), states(memory + kPreparedBytes) {}
  __device__ char* state(int warp) const { return states + warp * State::kBytes; }

  static std::size_t bytes(int num_warps) {
    return kPreparedBytes + static_cast<std::size_t>(num_warps) * State::kBytes;
  }

 private:
  static_assert(sizeof(Prepared) % kPieceBytes == 0);
  // Where states begin within a line of memory decides what the engine's stores cost: least at its
  // second sector, most between sectors (docs/gpu.md).
  static constexpr std::size_t kLine = 128;
  static constexpr std::size_t kSector = 32;
  static constexpr std::size_t kPreparedBytes =
      (kTokens * sizeof(Prepared) + kLine - 1) / kLine * kLine + kSector;
};

template <class Step, class Rows, class T>
__device__ void zero_outputs(const FoldTask<Step, Rows, T>& task, const BatchTokens& tokens,
                             const typename Step::PartOf& part) {
  if (!part.writes()) return;
  for (std::int32_t token = tokens.first; token < tokens.last; ++token)
    *task.step.output(token, part) = 0.0F;
}

// The tokens from `first` on that are prepared together.
template <int kTokens>
__device__ BatchTokens next_tokens(const BatchTokens& tokens, std::int32_t first) {
  return {first, min(first + kTokens, tokens.last)};
}

// A block for some parts of a head of each row, and of the tokens behind the rows. A grid is [parts
// of a head, for each row of a group; heads; groups of Step::kRowsTogether<T> rows]. kMany: rows
// may have several tokens; else they have one.
template <class Step, class Rows, class T, bool kMany>
__global__ void __launch_bounds__(kMostWarps* kWarp, fold_blocks<typename Step::PartOf, T, kMany>())
    fold_rows(const __grid_constant__ FoldTask<Step, Rows, T> task) {
  using PartOf = typename Step::PartOf;
  using Shared = FoldShared<Step, T, kMany>;
  extern __shared__ __align__(128) char memory[];
  const Team<Shared::kTokens> team;
  constexpr int kTogether = Step::template kRowsTogether<T>;
  const int block = static_cast<int>(blockIdx.x);
  const std::int32_t row =
      task.first_row + static_cast<int>(blockIdx.z) * kTogether + block % kTogether;
  if (row > task.rows.num_rows()) return;
  PartOf part;
  part.head = static_cast<int>(blockIdx.y);
  part.first = (block / kTogether * team.num_warps() + team.warp()) * PartOf::kRows;
  part.count = min(PartOf::kRows, task.shape.head_rows - part.first);
  part.n = task.shape.n;
  part.lane = team.lane();
  if (row == task.rows.num_rows())
    return zero_outputs(task, {end_of_rows(task.rows), task.num_tokens}, part);
  RowWalk<Rows> walk(task.rows, row, task.reads_states);
  const BatchTokens tokens = walk.tokens();
  const bool has_tokens = !kMany || tokens.size() > 0;
  BatchTokens some = next_tokens<Shared::kTokens>(tokens, tokens.first);
  // What the tokens need is loaded before the row's block is known.
  auto loaded = task.step.load(some, part.head, team);
  typename Step::Own own;
  if (has_tokens) own = task.step.own(tokens.first, part);
  if (!walk.runs()) return zero_outputs(task, tokens, part);

  const Shared shared(memory);
  typename Shared::State state(shared.state(team.warp()), part);
  const bool has_rows = part.count > 0;  // a warp without rows only prepares tokens
  // The part's rows of a block; null: it is none.
  const auto rows_of = [&, offset = part.offset(task.shape)](std::int32_t id) {
    return is_state_block(id) ? task.pool.block(id) + offset : nullptr;
  };
  if (has_rows) state.begin(rows_of(walk.source()));
  const auto fixed = task.step.fixed(part);
  T* to = has_tokens ? rows_of(walk.after(0)) : nullptr;
  std::int32_t t = 0;
#pragma unroll 1
  while (has_tokens) {
    task.step.prepare(shared.prepared, loaded, some, part.head, team);
    __syncthreads();
#pragma unroll 1
    for (std::int32_t token = some.first; has_rows && token < some.last; ++token, ++t) {
      const auto now = own;
      if (t == 0) state.wait();
      state.begin_token(to);
      if (kMany && token + 1 < tokens.last) {
        own = task.step.own(token + 1, part);
        to = rows_of(walk.after(t + 1));
      }
      const float output =
          task.step.fold(state, shared.prepared[token - some.first], now, fixed, part);
      state.end_token();
      if (part.writes()) *task.step.output(token, part) = output;
      if (!kMany) break;
    }
    if (!kMany || some.last >= tokens.last) break;
    some = next_tokens<Shared::kTokens>(tokens, some.last);
    loaded = task.step.load(some, part.head, team);
    __syncthreads();  // the last tokens have been folded
  }
  if (!has_rows) return;
  if (!has_tokens) state.wait();
  state.store(rows_of(walk.last()));
  state.end();
}

template <bool kMany, class Step, class Rows, class T>
Status launch_fold(FoldTask<Step, Rows, T> task, CUstream_st* stream) {
  constexpr int kMostGroups = 65535;  // of a grid
  constexpr int kTogether = Step::template kRowsTogether<T>;
  const auto kernel = fold_rows<Step, Rows, T, kMany>;
  const int parts = (task.shape.head_rows + Step::PartOf::kRows - 1) / Step::PartOf::kRows;
  const int num_warps = std::min(parts, kMostWarps);
  const int blocks_of_head = (parts + num_warps - 1) / num_warps;
  const std::size_t bytes = FoldShared<Step, T, kMany>::bytes(num_warps);
  if (Status status =
          cuda_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(bytes)),
                      "shared memory of a recurrence");
      !status)
    return status;
  const int groups = task.rows.num_rows() / kTogether + 1;
  for (int first = 0; first < groups; first += kMostGroups) {
    task.first_row = first * kTogether;
    const dim3 grid(static_cast<unsigned int>(blocks_of_head * kTogether),
                    static_cast<unsigned int>(task.shape.heads),
                    static_cast<unsigned int>(std::min(groups - first, kMostGroups)));
    kernel<<<grid, static_cast<unsigned int>(num_warps * kWarp), bytes, stream>>>(task);
    if (Status status = cuda_status(cudaGetLastError(), "launch of a recurrence"); !status)
      return status;
  }
  return Ok{};
}

template <class Step, class Rows, class T>
Status launch_fold_as_needed(const FoldTask<Step, Rows, T>& task, CUstream_st* stream) {
  if constexpr (std::is_same_v<Rows, DecodeRows> && Step::PartOf::kIsWhole)
    if (task.rows.query_start_loc.empty()) return launch_fold<false>(task, stream);
  return launch_fold<true>(task, stream);
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
    return launch_fold_as_needed(
        FoldTask<Chosen, Rows, T>{chosen, rows, pool, shape, num_tokens, reads_states}, stream);
  };
  if (shape.n == 4 * kWarp && shape.head_rows % kWholeRows<T> == 0 && has_whole_pieces(pool))
    return launch(Step<kWholeRows<T>, 4, Fit::whole>{step...});
  if (shape.n <= kWarp) return launch(Step<8, 1, Fit::partial>{step...});
  if (shape.n <= 2 * kWarp) return launch(Step<8, 2, Fit::partial>{step...});
  if (shape.n <= 4 * kWarp) return launch(Step<8, 4, Fit::partial>{step...});
  if (shape.n <= kMostElements) return launch(Step<4, 8, Fit::partial>{step...});
  return invalid_input("a state of " + std::to_string(shape.n) +
                       " elements a row; kernels take up to " + std::to_string(kMostElements));
}

}  // namespace hybridscope::numeric_cuda
