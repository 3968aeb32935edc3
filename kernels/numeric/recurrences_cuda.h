// The recurrences and convolutions of core/numeric on a CUDA device: form recurrent and
// convolutions bit for bit, form chunked within its tolerances.
//
// All functions of this folder's headers take what those of core/numeric take, but every span and
// view is in the memory of the current device, the arrays of rows too. They launch on `stream` and
// neither wait nor allocate, so that a CUDA graph can record them; numbers of rows and tokens are
// fixed by the launch. Padding is as the specification says: a decode row whose source is no block
// is skipped whole; outputs of skipped rows and of tokens behind the last row become zeros. Rows
// run at the same time: a block that one row writes must not be read by another.
// Errors: invalid_input for sizes that no kernel takes; device when a launch fails.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/numeric/recurrences.h"

struct CUstream_st;

namespace hybridscope {

// As StatePool, of elements that are rounded to nearest even when they are stored and float32 while
// a row runs.
struct Bf16StatePool {
  std::span<std::uint16_t> data;  // [num_blocks, block_elements]
  std::int64_t block_elements = 0;
};

// Inputs, outputs and blocks in bfloat16; sums are float32 and rounded once, behind the activation.
struct Bf16ConvTokens {
  std::span<const std::uint16_t> x;  // [tokens, dim]
  std::span<std::uint16_t> y;        // [tokens, dim]
};

// The short convolution of LFM2 between its projections; the layer's activation is none.
struct ShortConvTokens {
  std::span<const float> BCx;  // [tokens, 3 dim]: gate of the input, gate of the output, input
  std::span<float> y;          // [tokens, dim]
  // Known bug 58: [n, 3 dim] the tokens in front of BCx in the batch, oldest first.
  std::span<const float> in_front{};
};

// The functions of a layer, rows, a pool and tokens, as X(name, types of these four). NAME_cuda is
// declared here, NumericOnHost has NAME of arrays in host memory. State sizes N (Dk) up to 256,
// head dimensions of lightning attention up to 1,024, widths of convolutions 2 to 4.
#define HS_LAYER_FUNCTIONS(X)                                                      \
  X(mamba1_update, Mamba1Layer, DecodeRows, StatePool, Mamba1Tokens)               \
  X(mamba1_prefill, Mamba1Layer, PrefillRows, StatePool, Mamba1Tokens)             \
  X(mamba2_update, Mamba2Layer, DecodeRows, StatePool, Mamba2Tokens)               \
  X(mamba2_update, Mamba2Layer, DecodeRows, Bf16StatePool, Mamba2Tokens)           \
  X(delta_rule_update, DeltaRuleLayer, DecodeRows, StatePool, DeltaRuleTokens)     \
  X(delta_rule_update, DeltaRuleLayer, DecodeRows, Bf16StatePool, DeltaRuleTokens) \
  X(delta_rule_prefill, DeltaRuleLayer, PrefillRows, StatePool, DeltaRuleTokens)   \
  X(lightning_update, LightningLayer, DecodeRows, StatePool, LightningTokens)      \
  X(lightning_prefill, LightningLayer, PrefillRows, StatePool, LightningTokens)    \
  X(conv_update, ConvLayer, DecodeRows, StatePool, ConvTokens)                     \
  X(conv_update, ConvLayer, DecodeRows, Bf16StatePool, Bf16ConvTokens)             \
  X(conv_prefill, ConvLayer, PrefillRows, StatePool, ConvTokens)                   \
  X(short_conv_update, ConvLayer, DecodeRows, StatePool, ShortConvTokens)          \
  X(short_conv_prefill, ConvLayer, PrefillRows, StatePool, ShortConvTokens)

#define HS_DECLARE(name, Layer, Rows, Pool, Tokens)                                                \
  Status name##_cuda(const Layer& layer, const Rows& rows, const Pool& pool, const Tokens& tokens, \
                     CUstream_st* stream);
HS_LAYER_FUNCTIONS(HS_DECLARE)
#undef HS_DECLARE

Status mamba2_prefill_cuda(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                           const Mamba2Tokens& tokens, bool prep_initial_states,
                           CUstream_st* stream);

// How the chunks of form chunked run on a CUDA device, said by the arrays in host memory before the
// launch: the launch itself reads those on the device.

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

// Form chunked: results are within that form's tolerances of the host's, and the same call gives
// the same bits each time. States are float32, as the host's.
//
// What does not depend on the state runs for all pieces of chunks at once; then each part of a
// state walks the pieces of its row. Matrix products are three of TF32 for one of float32, on
// tensor cores (tile_products.cuh).

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
