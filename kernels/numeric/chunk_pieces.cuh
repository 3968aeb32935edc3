// Chunks of rows on the device: the builders' arrays, the pieces that kernels run, and what the
// kernels leave each other in the caller's scratch.
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/recurrences.h"
#include "kernels/numeric/recurrences_cuda.h"
#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

// What the decays and the products are made of.
enum class ChunkKind : std::uint8_t { head_decay, channel_decay, mamba2 };
__host__ __device__ constexpr bool is_delta(ChunkKind kind) { return kind != ChunkKind::mamba2; }
__host__ __device__ constexpr bool is_of_head(ChunkKind kind) {
  return kind != ChunkKind::channel_decay;
}

// Tokens [first, last) of row `row`; row -1: no piece. `chunk`: that ends with it; -1: it goes on.
struct ChunkPiece {
  std::int32_t row;
  std::int32_t first;
  std::int32_t last;
  std::int32_t chunk;
};

// The chunks of both kinds of layer, by number; no tokens: it does not run.
struct DeltaRuleChunkArrays {
  std::span<const RowChunk> chunks;
  std::int32_t num_rows = 0;
  std::int32_t num_tokens = 0;

  __device__ std::int32_t count() const { return static_cast<std::int32_t>(chunks.size()); }
  __device__ RowChunk at(std::int32_t k) const {
    const RowChunk chunk = chunks[static_cast<std::size_t>(k)];
    const bool runs = chunk.row >= 0 && chunk.row < num_rows && chunk.first >= 0 &&
                      chunk.last <= num_tokens && chunk.first < chunk.last;
    return runs ? chunk : RowChunk{};
  }
};
struct Mamba2ChunkArrays {
  Mamba2Chunks chunks;
  std::int32_t num_rows = 0;
  std::int32_t num_tokens = 0;

  __device__ std::int32_t count() const {
    return min(static_cast<std::int32_t>(chunks.seq_idx.size()),
               static_cast<std::int32_t>(chunks.cu_chunk_seqlen.size()) - 1);
  }
  __device__ RowChunk at(std::int32_t k) const {
    const auto index = static_cast<std::size_t>(k);
    const RowChunk chunk{chunks.seq_idx[index], max(chunks.cu_chunk_seqlen[index], 0),
                         min(chunks.cu_chunk_seqlen[index + 1], num_tokens)};
    const bool runs = chunk.row >= 0 && chunk.row < num_rows && chunk.first < chunk.last;
    return runs ? chunk : RowChunk{};
  }
};

// Heads and sizes of a layer, with the names of the delta rule; Mamba2's queries are its C, keys
// its B, values its x.
struct ChunkSizes {
  std::int32_t key_heads = 0;
  std::int32_t value_heads = 0;
  std::int32_t key_dim = 0;
  std::int32_t value_dim = 0;

  __host__ __device__ std::int32_t heads_of_key() const { return value_heads / key_heads; }
};

// Key dimensions are padded with zeros to one of these.
inline constexpr int kMostKeys = 256;
inline int padded_keys(std::int32_t key_dim) {
  int keys = 32;
  while (keys < key_dim && keys < kMostKeys) keys *= 2;
  return keys;
}

inline constexpr int kSquare = kPieceTokens * kPieceTokens;

// What each piece has in scratch, in floats. Tokens behind a piece's last are zeros, with the sums
// of the last.
struct ChunkScratch {
  ChunkPiece* pieces;
  float* queries;   // [pieces, key heads, tokens, keys] normalised and scaled
  float* keys;      // [pieces, key heads, tokens, keys] normalised
  float* products;  // [pieces, product heads, tokens, tokens] of queries and keys
  float* inverses;  // [pieces, value heads, tokens, tokens] of the delta rule, columns times beta
  float* sums;      // [pieces, value heads, tokens] of the logarithms of decays; of channels:
                    // [pieces, value heads, keys, tokens]
  float* steps;     // [pieces, value heads, tokens] Mamba2's dt

  static std::int64_t floats_of_piece(ChunkKind kind, const ChunkSizes& sizes) {
    const std::int64_t rows = std::int64_t{kPieceTokens} * padded_keys(sizes.key_dim);
    const std::int64_t of_keys = 2 * rows + (is_of_head(kind) ? kSquare : 0);
    const std::int64_t of_values = (is_delta(kind) ? kSquare : kPieceTokens) +
                                   (is_of_head(kind) ? kPieceTokens : kSquare + rows);
    return static_cast<std::int64_t>(sizeof(ChunkPiece) / sizeof(float)) +
           sizes.key_heads * of_keys + sizes.value_heads * of_values;
  }
  static ChunkScratch in(float* scratch, std::int64_t num_pieces, ChunkKind kind,
                         const ChunkSizes& sizes) {
    const std::int64_t rows = std::int64_t{kPieceTokens} * padded_keys(sizes.key_dim);
    const auto take = [&scratch, num_pieces](std::int64_t floats) {
      float* const taken = scratch;
      scratch += num_pieces * floats;
      return taken;
    };
    ChunkScratch made{};
    made.pieces = reinterpret_cast<ChunkPiece*>(
        take(static_cast<std::int64_t>(sizeof(ChunkPiece) / sizeof(float))));
    made.queries = take(sizes.key_heads * rows);
    made.keys = take(sizes.key_heads * rows);
    made.products = take((is_of_head(kind) ? sizes.key_heads : sizes.value_heads) * kSquare);
    if (is_delta(kind)) made.inverses = take(std::int64_t{sizes.value_heads} * kSquare);
    made.sums = take(sizes.value_heads * (is_of_head(kind) ? kPieceTokens : rows));
    if (!is_delta(kind)) made.steps = take(std::int64_t{sizes.value_heads} * kPieceTokens);
    return made;
  }
};

// Before thread t's number: of the threads of its block, and of all in `total`. All threads of the
// block must call it; `warps`: [warps of the block] in shared memory.
__device__ inline int sum_before(int number, int* warps, int& total) {
  const int lane = lane_of_thread();
  int sum = number;
#pragma unroll
  for (int distance = 1; distance < kWarp; distance *= 2) {
    const int other = __shfl_up_sync(kWholeWarp, sum, distance);
    if (lane >= distance) sum += other;
  }
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  if (lane == kWarp - 1) warps[warp] = sum;
  __syncthreads();
  int before = sum - number;
  total = 0;
  for (int w = 0; w < static_cast<int>(blockDim.x) / kWarp; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  __syncthreads();
  return before;
}

// One block cuts all chunks into pieces, in order.
inline constexpr int kCutThreads = 256;
template <class Chunks>
__global__ void cut_pieces(Chunks chunks, ChunkPiece* pieces, std::int32_t num_pieces) {
  __shared__ int warps[kCutThreads / kWarp];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  std::int32_t next = 0;
  for (std::int32_t first = 0; first < chunks.count(); first += kCutThreads) {
    const std::int32_t k = first + thread;
    const RowChunk chunk = k < chunks.count() ? chunks.at(k) : RowChunk{};
    int total = 0;
    const int own = (chunk.last - chunk.first + kPieceTokens - 1) / kPieceTokens;
    std::int32_t at = next + sum_before(own, warps, total);
    for (std::int32_t t = chunk.first; t < chunk.last; t += kPieceTokens, ++at) {
      const bool ends = t + kPieceTokens >= chunk.last;
      if (at < num_pieces)
        pieces[at] = {chunk.row, t, ends ? chunk.last : t + kPieceTokens, ends ? k : -1};
    }
    next += total;
  }
  for (std::int32_t at = next + thread; at < num_pieces; at += kCutThreads)
    pieces[at] = {-1, 0, 0, -1};
}

}  // namespace hybridscope::numeric_cuda
