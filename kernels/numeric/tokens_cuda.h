// What begins and ends a model's step on a CUDA device: embeddings and greedy tokens. What holds
// for all functions is said in recurrences_cuda.h.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"

struct CUstream_st;

namespace hybridscope {

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
