#include <cmath>

#include "kernels/numeric/chunk_launch.cuh"
#include "kernels/numeric/chunk_rows.cuh"
#include "kernels/numeric/chunked_cuda.h"

namespace hybridscope {
namespace {

using namespace numeric_cuda;

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
