// Form chunked: prompt rows computed chunk by chunk with matrix products, cut where the builders'
// chunk arrays say (numerics: two forms; Mamba2; GatedDeltaNet; vLLM
// mamba_chunk_scan_combined_varlen, chunk_gated_delta_rule). Other bits than form recurrent: within
// the tolerances. Form recurrent reads no chunk arrays: a wrong one shows only here.
#pragma once

#include <cstdint>
#include <span>

#include "core/numeric/recurrences.h"
#include "core/numeric/state_rows.h"

namespace hybridscope {

// Physical chunk k is tokens [cu_chunk_seqlen[k], cu_chunk_seqlen[k + 1]) of row seq_idx[k]; what
// lies outside the tokens, or names no row, is left out.
struct Mamba2Chunks {
  std::span<const std::int32_t> cu_chunk_seqlen;     // [chunks + 1]
  std::span<const std::int32_t> seq_idx;             // [chunks]
  std::span<const std::int32_t> last_chunk_indices;  // [rows]
  std::int32_t chunk_size = 0;                       // tokens
};
// Final states are those at the end of a row's last chunk. Mode all: states at block boundaries are
// those at the end of every (block size / chunk size)-th chunk of the row, as upstream takes them.
void mamba2_prefill_chunked(const Mamba2Layer& layer, const PrefillRows& rows,
                            const StatePool& pool, const Mamba2Tokens& tokens,
                            bool prep_initial_states, const Mamba2Chunks& chunks);

// Tokens [first, last) of a row, one after the other from the row's first token on.
struct RowChunk {
  std::int32_t row = 0;
  std::int32_t first = 0;
  std::int32_t last = 0;
};
void delta_rule_prefill_chunked(const DeltaRuleLayer& layer, const PrefillRows& rows,
                                const StatePool& pool, const DeltaRuleTokens& tokens,
                                std::span<const RowChunk> chunks);

}  // namespace hybridscope
