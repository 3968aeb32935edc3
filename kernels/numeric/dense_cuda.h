// What the layers of a model share, and what begins and ends its step, on a CUDA device and of many
// tokens at once, bit for bit as in core/numeric; what holds for all functions is said in
// recurrences_cuda.h. Outputs are written whole.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/numeric/dense_layers.h"

struct CUstream_st;

namespace hybridscope {

struct LinearShape {
  std::int32_t num_tokens = 0;
  std::int32_t inputs = 0;
  std::int32_t outputs = 0;
};
// y[t][o] = R32(weight[o] x[t]); `weight`: [outputs, inputs], `x`: [tokens, inputs].
Status linear_cuda(const LinearShape& shape, std::span<const float> weight,
                   std::span<const float> x, std::span<float> y, CUstream_st* stream);

// Norms of rows [rows, n] where n is the weight's size; `x` and `y` may be one array.
Status rms_norm_cuda(const RmsNorm& norm, std::span<const float> x, std::span<float> y,
                     CUstream_st* stream);
Status gated_norm_cuda(const RmsNorm& norm, std::int32_t groups, std::span<const float> x,
                       std::span<const float> z, std::span<float> y, CUstream_st* stream);
Status norm_gated_cuda(const RmsNorm& norm, OutputGate gate, std::span<const float> x,
                       std::span<const float> z, std::span<float> y, CUstream_st* stream);

// `x`: [tokens, inputs], `y`: [tokens, outputs]; `between`: [tokens, inner], overwritten.
Status gated_mlp_cuda(const GatedMlp& mlp, std::int32_t num_tokens, std::span<const float> x,
                      std::span<float> between, std::span<float> y, CUstream_st* stream);

// Rotary positions of the tokens of a batch. `cosines` and `sines`: of a RopeTable,
// [positions, rotary_dim / 2].
struct RopeTokens {
  std::span<const std::int32_t> positions;  // [tokens], each in the table
  std::int32_t num_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t rotary_dim = 0;
  std::span<const float> cosines;
  std::span<const float> sines;
};
// Turns `heads` [tokens, heads, head_dim] in place.
Status rope_cuda(const RopeTokens& tokens, std::span<float> heads, CUstream_st* stream);

// Paged attention.

// The two parts of it: all rows' keys and values first, then the queries. `o` must have the batch's
// size in both. Outputs of rows without a sequence become zeros too. Rows of one launch must not
// write one slot. Head dimensions up to 1,024.
Status write_keys_cuda(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                       const AttentionTokens& tokens, CUstream_st* stream);
Status attend_cuda(const AttentionLayer& layer, const AttentionRows& rows, const KvCache& cache,
                   const AttentionTokens& tokens, CUstream_st* stream);

Status paged_attention_cuda(const AttentionLayer& layer, const AttentionRows& rows,
                            const KvCache& cache, const AttentionTokens& tokens,
                            CUstream_st* stream);

// Embeddings and greedy tokens.

// x[t] = embedding[token_ids[t]]; `embedding`: [vocabulary, hidden size], `x`: [tokens, hidden
// size]. Ids below 0 (placeholders) run as token 0. Requires: ids below the vocabulary's size.
Status embed_tokens_cuda(std::span<const std::int32_t> token_ids, std::span<const float> embedding,
                         std::span<float> x, CUstream_st* stream);

// The smallest index among equal maxima of each row of `logits` [tokens, vocabulary]. NaN is below
// every number; the last index where all are NaN, as greedy_token. Requires: token_ids is not empty
// if logits is not.
Status greedy_tokens_cuda(std::span<const float> logits, std::span<std::int32_t> token_ids,
                          CUstream_st* stream);

}  // namespace hybridscope
