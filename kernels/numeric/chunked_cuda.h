// Form chunked of core/numeric on a CUDA device (core/numeric/chunked.h); what holds for all
// functions is said in recurrences_cuda.h, but for bits: results are within that form's tolerances
// of the host's, and the same call gives the same bits each time. States are float32, as the
// host's.
//
// What does not depend on the state runs for all pieces of chunks at once; then each part of a
// state walks the pieces of its row. Matrix products are three of TF32 for one of float32, on
// tensor cores (tile_products.cuh).
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/numeric/chunked.h"
#include "kernels/numeric/chunk_plan.h"

struct CUstream_st;

namespace hybridscope {

struct ChunkLaunch {
  std::int32_t num_pieces = 0;  // at least ChunkPlan::num_pieces; what is above runs nothing
  // Rows one after the other, chunks in the host's order: ChunkPlan::in_turn, or a block that one
  // row writes is read or written by another.
  bool in_turn = false;
  // At least num_pieces * piece_floats(layer), from a multiple of 16 bytes on.
  std::span<float> scratch{};
};

// Scratch for each piece. Key and state sizes (Dk, N) up to 256.
std::int64_t piece_floats(const Mamba2Layer& layer);
std::int64_t piece_floats(const DeltaRuleLayer& layer);

// Outputs of tokens that no chunk has become zeros.
Status mamba2_prefill_chunked_cuda(const Mamba2Layer& layer, const PrefillRows& rows,
                                   const StatePool& pool, const Mamba2Tokens& tokens,
                                   bool prep_initial_states, const Mamba2Chunks& chunks,
                                   const ChunkLaunch& launch, CUstream_st* stream);
Status delta_rule_prefill_chunked_cuda(const DeltaRuleLayer& layer, const PrefillRows& rows,
                                       const StatePool& pool, const DeltaRuleTokens& tokens,
                                       std::span<const RowChunk> chunks, const ChunkLaunch& launch,
                                       CUstream_st* stream);

}  // namespace hybridscope
