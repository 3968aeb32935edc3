// Paged attention of core/numeric on a CUDA device, bit for bit; what holds for all functions is
// said in recurrences_cuda.h.
#pragma once

#include "core/base/result.h"
#include "core/numeric/paged_attention.h"

struct CUstream_st;

namespace hybridscope {

// Head dimensions up to 1,024. Outputs of rows without a sequence become zeros too.
Status paged_attention_cuda(const AttentionLayer& layer, const AttentionRows& rows,
                            const KvCache& cache, const AttentionTokens& tokens,
                            CUstream_st* stream);

}  // namespace hybridscope
