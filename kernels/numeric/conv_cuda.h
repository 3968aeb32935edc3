// The convolutions of core/numeric on a CUDA device, bit for bit; what holds for all functions is
// said in recurrences_cuda.h. Widths 2 to 4.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/numeric/conv.h"
#include "kernels/numeric/bf16_pool.h"

struct CUstream_st;

namespace hybridscope {

Status conv_prefill_cuda(const ConvLayer& layer, const PrefillRows& rows, const StatePool& pool,
                         const ConvTokens& tokens, CUstream_st* stream);
Status conv_update_cuda(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                        const ConvTokens& tokens, CUstream_st* stream);

// Inputs, outputs and blocks in bfloat16; sums are float32 and rounded once, behind the activation.
struct Bf16ConvTokens {
  std::span<const std::uint16_t> x;  // [tokens, dim]
  std::span<std::uint16_t> y;        // [tokens, dim]
};
Status conv_update_cuda(const ConvLayer& layer, const DecodeRows& rows, const Bf16StatePool& pool,
                        const Bf16ConvTokens& tokens, CUstream_st* stream);

// The short convolution of LFM2 between its projections; the layer's activation is none.
struct ShortConvTokens {
  std::span<const float> BCx;  // [tokens, 3 dim]: gate of the input, gate of the output, input
  std::span<float> y;          // [tokens, dim]
  // Known bug 58: [n, 3 dim] the tokens in front of BCx in the batch, oldest first.
  std::span<const float> in_front{};
};
Status short_conv_prefill_cuda(const ConvLayer& layer, const PrefillRows& rows,
                               const StatePool& pool, const ShortConvTokens& tokens,
                               CUstream_st* stream);
Status short_conv_update_cuda(const ConvLayer& layer, const DecodeRows& rows, const StatePool& pool,
                              const ShortConvTokens& tokens, CUstream_st* stream);

}  // namespace hybridscope
