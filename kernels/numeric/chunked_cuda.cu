// Form chunked of core/numeric on a CUDA device.

#include "kernels/numeric/recurrences_cuda.h"

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "kernels/cuda/device_memory.h"
#include "kernels/numeric/chunk_pieces.cuh"
#include "kernels/numeric/chunk_prepare.cuh"
#include "kernels/numeric/chunk_rows.cuh"
#include "kernels/numeric/chunk_walk.cuh"

namespace hybridscope::numeric_cuda {

// The launches, whatever the layer.

template <class Task>
Status launch_chunk_kernel(void (*kernel)(Task), const Task& task, const dim3& grid, int threads,
                           std::size_t floats, CUstream_st* stream) {
  const std::size_t bytes = floats * sizeof(float);
  if (Status status = cuda_status(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       static_cast<int>(bytes)),
                                  "shared memory of chunks");
      !status)
    return status;
  kernel<<<grid, static_cast<unsigned int>(threads), bytes, stream>>>(task);
  return cuda_status(cudaGetLastError(), "launch of chunks");
}

// Shared memory that a block of the current device may have.
inline Result<std::size_t> most_shared_bytes() {
  int device = 0;
  int bytes = 0;
  if (const Status status = cuda_status(cudaGetDevice(&device), "cudaGetDevice"); !status)
    return status.error();
  if (const Status status = cuda_status(
          cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
          "cudaDeviceGetAttribute");
      !status)
    return status.error();
  return static_cast<std::size_t>(bytes);
}

// The launches of a call: outputs to zero, pieces, what needs no state, the walk. `Walk`:
// the kernel of one layer, by kind and padded keys.
template <ChunkKind kKind, template <ChunkKind, int> class Walk, class Chunks, class Task>
class ChunkLaunches {
 public:
  ChunkLaunches(const PrepareTask& prepare, const Task& walk, const Chunks& chunks,
                std::int64_t num_outputs, CUstream_st* stream)
      : prepare_(prepare),
        walk_(walk),
        chunks_(chunks),
        num_outputs_(num_outputs),
        stream_(stream) {}

  Status launch() const {
    const WalkTask& task = walk_.task;
    if (num_outputs_ > 0) {
      const auto bytes = static_cast<std::size_t>(num_outputs_) * sizeof(float);
      if (Status status =
              cuda_status(cudaMemsetAsync(task.o, 0, bytes, stream_), "cudaMemsetAsync of outputs");
          !status)
        return status;
    }
    if (task.num_pieces > 0) {
      cut_pieces<<<1, kCutThreads, 0, stream_>>>(chunks_, task.scratch.pieces, task.num_pieces);
      if (Status status = cuda_status(cudaGetLastError(), "launch of chunks"); !status)
        return status;
    }
    switch (padded_keys(task.sizes.key_dim)) {
      case 32: return launch_padded<32>();
      case 64: return launch_padded<64>();
      case 128: return launch_padded<128>();
      default: return launch_padded<256>();
    }
  }

 private:
  template <int kKeys>
  Status launch_padded() const {
    const WalkTask& task = walk_.task;
    const auto heads = static_cast<unsigned int>(task.sizes.value_heads);
    if (task.num_pieces > 0) {
      const dim3 grid(static_cast<unsigned int>(task.num_pieces), heads);
      if (Status status =
              launch_chunk_kernel(&prepare_pieces<kKind, kKeys>, prepare_, grid, kPrepareThreads,
                                  PreparedPiece<kKind, kKeys>::kFloats, stream_);
          !status)
        return status;
    }
    const auto parts =
        static_cast<unsigned int>((task.sizes.value_dim + kPartRows - 1) / kPartRows);
    const auto rows = task.in_turn ? 1U : static_cast<unsigned int>(task.rows.num_rows());
    if (rows == 0) return Ok{};
    auto most_bytes = most_shared_bytes();
    if (!most_bytes) return most_bytes.error();
    // Two blocks of an SM hide each other's loads as well, where one piece leaves room for both.
    const std::size_t two_pieces = StateWalk<kKind, kKeys>::floats(true);
    Task walk = walk_;
    walk.task.loads_ahead = is_delta(kKind) && two_pieces * sizeof(float) <= most_bytes.value();
    return launch_chunk_kernel(Walk<kKind, kKeys>::kernel(), walk, dim3(parts * rows, heads),
                               kWalkThreads, StateWalk<kKind, kKeys>::floats(walk.task.loads_ahead),
                               stream_);
  }

  const PrepareTask& prepare_;
  const Task& walk_;
  const Chunks& chunks_;
  std::int64_t num_outputs_;
  CUstream_st* stream_;
};

// Error: a size that no kernel takes; scratch that is not aligned, or less than the pieces need.
inline Status expect_chunk_sizes(const ChunkSizes& sizes, const ChunkLaunch& launch,
                                 std::int64_t floats_of_piece) {
  if (sizes.key_dim > kMostKeys)
    return invalid_input("a state of " + std::to_string(sizes.key_dim) +
                         " elements a row; kernels take up to " + std::to_string(kMostKeys));
  const std::int64_t needed = launch.num_pieces * floats_of_piece;
  if (static_cast<std::int64_t>(launch.scratch.size()) < needed)
    return invalid_input("scratch of " + std::to_string(launch.scratch.size()) +
                         " floats for chunks that need " + std::to_string(needed));
  if (reinterpret_cast<std::uintptr_t>(launch.scratch.data()) % 16 != 0)
    return invalid_input("scratch for chunks that does not begin at a multiple of 16 bytes");
  return Ok{};
}

}  // namespace hybridscope::numeric_cuda

namespace hybridscope {
namespace {

using namespace numeric_cuda;

struct Mamba2WalkTask {
  WalkTask task;
  Mamba2Chunks chunks;
};

// Chunks in the order of the arrays; a chunk of another row than the one before begins with that
// row's state. A row's state goes to its boundaries and, behind the chunk that
// last_chunk_indices_p names, to its destination; that of a row without tokens stays as it is.
template <int kKeys>
__global__ void __launch_bounds__(kWalkThreads) walk_mamba2(Mamba2WalkTask walk_task) {
  extern __shared__ float4 shared[];
  const WalkTask& task = walk_task.task;
  const PrefillRows& rows = task.rows;
  const WalkBlock block = walk_block(task);
  StateWalk<ChunkKind::mamba2, kKeys> walk(task, block.part, reinterpret_cast<float*>(shared));
  const PieceRange range = pieces_of(task, block.rows.first);
  std::int32_t last_row = -1;
  for (std::int32_t at = range.first; at < range.last; ++at) {
    const ChunkPiece piece = task.scratch.pieces[at];
    const std::int32_t row = piece.row;
    if (row < block.rows.first || row >= block.rows.last) continue;
    if (row != last_row) walk.load(row);
    last_row = row;
    walk.fold(at, next_piece(task, range, at, row));
    if (piece.chunk < 0) continue;
    walk.store(rows.is_mode_all()
                   ? block_at(rows.state_indices, row,
                              column_of_chunk(rows, walk_task.chunks, row, piece.chunk))
                   : boundary_block(rows, row, piece.last - rows.tokens(row).first));
    if (walk_task.chunks.last_chunk_indices[static_cast<std::size_t>(row)] == piece.chunk)
      walk.store(rows.destination(row));
  }
  for (std::int32_t row = block.rows.first; row < block.rows.last && !rows.is_mode_all(); ++row) {
    if (rows.tokens(row).size() > 0) continue;
    walk.load(row);
    walk.store(rows.destination(row));
  }
}
template <ChunkKind, int kKeys>
struct Mamba2Walk {
  static auto kernel() { return &walk_mamba2<kKeys>; }
};

ChunkSizes sizes_of(const Mamba2Layer& layer) {
  return {layer.num_groups, layer.num_heads, layer.state_size, layer.head_dim};
}

}  // namespace

std::int64_t piece_floats(const Mamba2Layer& layer) {
  return ChunkScratch::floats_of_piece(ChunkKind::mamba2, sizes_of(layer));
}

Status mamba2_prefill_chunked_cuda(const Mamba2Layer& layer, const PrefillRows& rows,
                                   const StatePool& pool, const Mamba2Tokens& tokens,
                                   bool prep_initial_states, const Mamba2Chunks& chunks,
                                   const ChunkLaunch& launch, CUstream_st* stream) {
  if (tokens.y.empty() && rows.num_rows() == 0) return Ok{};
  const ChunkSizes sizes = sizes_of(layer);
  if (Status status = expect_chunk_sizes(sizes, launch, piece_floats(layer)); !status)
    return status;
  const auto num_tokens =
      static_cast<std::int32_t>(std::ssize(tokens.dt) / std::max(layer.num_heads, 1));
  const ChunkScratch scratch =
      ChunkScratch::in(launch.scratch.data(), launch.num_pieces, ChunkKind::mamba2, sizes);
  const PrepareTask prepare{.sizes = sizes,
                            .scratch = scratch,
                            .q = tokens.C.data(),
                            .k = tokens.B.data(),
                            .gates = tokens.dt.data(),
                            .A_log = layer.A_log.data(),
                            .dt_bias = layer.dt_bias.data(),
                            .dt_min = layer.dt_min,
                            .dt_max = layer.dt_max,
                            .has_dt_limit = layer.has_dt_limit};
  const Mamba2WalkTask walk{.task = {.sizes = sizes,
                                     .scratch = scratch,
                                     .num_pieces = launch.num_pieces,
                                     .rows = rows,
                                     .pool = pool,
                                     .reads_states = prep_initial_states,
                                     .in_turn = launch.in_turn,
                                     .v = tokens.x.data(),
                                     .o = tokens.y.data(),
                                     .D = layer.D.data()},
                            .chunks = chunks};
  return ChunkLaunches<ChunkKind::mamba2, Mamba2Walk, Mamba2ChunkArrays, Mamba2WalkTask>(
             prepare, walk, {chunks, rows.num_rows(), num_tokens}, std::ssize(tokens.y), stream)
      .launch();
}

namespace {

struct DeltaRuleWalkTask {
  WalkTask task;
};

// A row's state goes to its boundaries and, behind its last chunk, to its destination.
template <ChunkKind kKind, int kKeys>
__global__ void __launch_bounds__(kWalkThreads, 1) walk_delta_rule(DeltaRuleWalkTask walk_task) {
  extern __shared__ float4 shared[];
  const WalkTask& task = walk_task.task;
  const WalkBlock block = walk_block(task);
  StateWalk<kKind, kKeys> walk(task, block.part, reinterpret_cast<float*>(shared));
  for (std::int32_t row = block.rows.first; row < block.rows.last; ++row) {
    walk.load(row);
    const PieceRange range = pieces_of(task, row);
    for (std::int32_t at = range.first; at < range.last; ++at) {
      const ChunkPiece piece = task.scratch.pieces[at];
      if (piece.row != row) continue;
      walk.fold(at, next_piece(task, range, at, row));
      if (piece.chunk >= 0)
        walk.store(boundary_block(task.rows, row, piece.last - task.rows.tokens(row).first));
    }
    walk.store(task.rows.destination(row));
  }
}
template <ChunkKind kKind, int kKeys>
struct DeltaRuleWalk {
  static auto kernel() { return &walk_delta_rule<kKind, kKeys>; }
};

ChunkSizes sizes_of(const DeltaRuleLayer& layer) {
  return {layer.num_key_heads, layer.num_value_heads, layer.key_dim, layer.value_dim};
}

template <ChunkKind kKind>
Status launch_delta_rule(const DeltaRuleLayer& layer, const PrefillRows& rows,
                         const StatePool& pool, const DeltaRuleTokens& tokens,
                         std::span<const RowChunk> chunks, const ChunkLaunch& launch,
                         CUstream_st* stream) {
  const ChunkSizes sizes = sizes_of(layer);
  if (Status status = expect_chunk_sizes(sizes, launch, piece_floats(layer)); !status)
    return status;
  const auto num_tokens =
      static_cast<std::int32_t>(std::ssize(tokens.b) / std::max(layer.num_value_heads, 1));
  const ChunkScratch scratch =
      ChunkScratch::in(launch.scratch.data(), launch.num_pieces, kKind, sizes);
  const PrepareTask prepare{
      .sizes = sizes,
      .scratch = scratch,
      .q = tokens.q.data(),
      .k = tokens.k.data(),
      .gates = tokens.a.data(),
      .b = tokens.b.data(),
      .A_log = layer.A_log.data(),
      .dt_bias = layer.dt_bias.data(),
      .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(layer.key_dim)))};
  const DeltaRuleWalkTask walk{{.sizes = sizes,
                                .scratch = scratch,
                                .num_pieces = launch.num_pieces,
                                .rows = rows,
                                .pool = pool,
                                .reads_states = true,
                                .in_turn = launch.in_turn,
                                .v = tokens.v.data(),
                                .o = tokens.o.data()}};
  return ChunkLaunches<kKind, DeltaRuleWalk, DeltaRuleChunkArrays, DeltaRuleWalkTask>(
             prepare, walk, {chunks, rows.num_rows(), num_tokens}, std::ssize(tokens.o), stream)
      .launch();
}

}  // namespace

std::int64_t piece_floats(const DeltaRuleLayer& layer) {
  return ChunkScratch::floats_of_piece(
      layer.decay_of == DecayOf::head ? ChunkKind::head_decay : ChunkKind::channel_decay,
      sizes_of(layer));
}

Status delta_rule_prefill_chunked_cuda(const DeltaRuleLayer& layer, const PrefillRows& rows,
                                       const StatePool& pool, const DeltaRuleTokens& tokens,
                                       std::span<const RowChunk> chunks, const ChunkLaunch& launch,
                                       CUstream_st* stream) {
  if (tokens.o.empty() && rows.num_rows() == 0) return Ok{};
  return layer.decay_of == DecayOf::head ? launch_delta_rule<ChunkKind::head_decay>(
                                               layer, rows, pool, tokens, chunks, launch, stream)
                                         : launch_delta_rule<ChunkKind::channel_decay>(
                                               layer, rows, pool, tokens, chunks, launch, stream);
}

}  // namespace hybridscope
