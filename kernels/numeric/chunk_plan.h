// How the chunks of form chunked run on a CUDA device, said by the arrays in host memory before the
// launch: the launch itself reads those on the device.
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/chunked.h"

namespace hybridscope {

// Kernels run pieces of at most so many tokens, cut from each chunk's first token on.
inline constexpr std::int32_t kPieceTokens = 64;

struct ChunkPlan {
  std::int32_t num_pieces = 0;  // of all chunks that run
  // A chunk begins before the one in front of it ends, or has an earlier row: only a fault makes
  // such arrays, and they mean something only if everything runs one after the other, as on the
  // host.
  bool in_turn = false;
};

// `num_tokens`: of the rows. Chunks that the host leaves out have no pieces.
ChunkPlan plan_chunks(std::span<const RowChunk> chunks, std::int32_t num_tokens);
ChunkPlan plan_chunks(const Mamba2Chunks& chunks, std::int32_t num_tokens);

}  // namespace hybridscope
