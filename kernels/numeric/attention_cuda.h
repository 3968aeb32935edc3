// Paged attention of core/numeric on a CUDA device, bit for bit; what holds for all functions is
// said in recurrences_cuda.h.
#pragma once

#include "core/base/result.h"
#include "core/numeric/paged_attention.h"

struct CUstream_st;

namespace hybridscope {

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

}  // namespace hybridscope
