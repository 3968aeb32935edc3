#include "kernels/numeric/chunk_launch.cuh"
#include "kernels/numeric/chunk_rows.cuh"
#include "kernels/numeric/chunked_cuda.h"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

struct Mamba2WalkTask {
  WalkTask task;
  Mamba2Chunks chunks;
};

// The column of mode all that chunk `chunk` of the row fills, if it ends a block; -1: none
// (core/numeric/chunked.cpp).
__device__ std::int32_t column_of_chunk_end(const PrefillRows& rows, const Mamba2Chunks& chunks,
                                            std::int32_t row, std::int32_t chunk) {
  const auto r = static_cast<std::size_t>(row);
  const std::int32_t stride = rows.mamba_block_size / chunks.chunk_size;
  if (stride < 1) return -1;
  const std::int32_t first_chunk = row == 0 ? 0 : chunks.last_chunk_indices[r - 1] + 1;
  const std::int32_t first =
      first_chunk + stride - 1 -
      rows.num_computed_tokens[r] % rows.mamba_block_size / chunks.chunk_size;
  if (chunk < first || (chunk - first) % stride != 0) return -1;
  const std::int32_t column = rows.block_idx_first_scheduled_token[r] + (chunk - first) / stride;
  return column < rows.block_idx_last_scheduled_token[r] && column < rows.state_indices.cols
             ? column
             : -1;
}

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
                              column_of_chunk_end(rows, walk_task.chunks, row, piece.chunk))
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

}  // namespace hybridscope
