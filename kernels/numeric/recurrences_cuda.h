// The recurrences of core/numeric on a CUDA device, bit for bit: Mamba1, Mamba2, the gated delta
// rule, lightning attention.
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

#include "core/base/result.h"
#include "core/numeric/recurrences.h"
#include "kernels/numeric/bf16_pool.h"

struct CUstream_st;

namespace hybridscope {

// State sizes N (Dk) up to 256.
Status mamba1_update_cuda(const Mamba1Layer& layer, const DecodeRows& rows, const StatePool& pool,
                          const Mamba1Tokens& tokens, CUstream_st* stream);
Status mamba1_prefill_cuda(const Mamba1Layer& layer, const PrefillRows& rows, const StatePool& pool,
                           const Mamba1Tokens& tokens, CUstream_st* stream);

Status mamba2_update_cuda(const Mamba2Layer& layer, const DecodeRows& rows, const StatePool& pool,
                          const Mamba2Tokens& tokens, CUstream_st* stream);
Status mamba2_update_cuda(const Mamba2Layer& layer, const DecodeRows& rows,
                          const Bf16StatePool& pool, const Mamba2Tokens& tokens,
                          CUstream_st* stream);
Status mamba2_prefill_cuda(const Mamba2Layer& layer, const PrefillRows& rows, const StatePool& pool,
                           const Mamba2Tokens& tokens, bool prep_initial_states,
                           CUstream_st* stream);

Status delta_rule_update_cuda(const DeltaRuleLayer& layer, const DecodeRows& rows,
                              const StatePool& pool, const DeltaRuleTokens& tokens,
                              CUstream_st* stream);
Status delta_rule_update_cuda(const DeltaRuleLayer& layer, const DecodeRows& rows,
                              const Bf16StatePool& pool, const DeltaRuleTokens& tokens,
                              CUstream_st* stream);
Status delta_rule_prefill_cuda(const DeltaRuleLayer& layer, const PrefillRows& rows,
                               const StatePool& pool, const DeltaRuleTokens& tokens,
                               CUstream_st* stream);

// Head dimensions up to 1,024.
Status lightning_update_cuda(const LightningLayer& layer, const DecodeRows& rows,
                             const StatePool& pool, const LightningTokens& tokens,
                             CUstream_st* stream);
Status lightning_prefill_cuda(const LightningLayer& layer, const PrefillRows& rows,
                              const StatePool& pool, const LightningTokens& tokens,
                              CUstream_st* stream);

}  // namespace hybridscope
