// One step's batch as every metadata builder sees it (vLLM v1/attention/backend.py,
// CommonAttentionMetadata), as views of arrays that the runner owns, and what a row
// of it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/tensor_view.h"

namespace hybridscope {

struct CommonAttentionMetadata {
  std::span<const std::int32_t> query_start_loc;  // [num_reqs + 1], exclusive prefix sum
  std::span<const std::int32_t> seq_lens;         // [num_reqs], computed + scheduled; padding: 0
  std::int32_t num_reqs = 0;                      // rows, padding rows included
  std::int32_t num_actual_tokens = 0;             // padded to the captured size in a full graph
  std::int32_t max_query_len = 0;                 // longest query, or an upper bound
  TensorView<std::int32_t> block_table_tensor;    // [num_reqs, columns]
  std::span<const std::uint8_t> is_prefilling;    // [num_reqs]; empty: not given
  // [num_reqs] tokens after which the scheduler wants a row's state stored inside its chunk, 0:
  // nowhere; empty: not given, every chunk that can stores one.
  std::span<const std::int32_t> checkpoint_positions = {};
  // [num_reqs] block-table columns of these states, as a trace gave them; empty: each goes where
  // the rule says.
  std::span<const std::int32_t> checkpoint_columns = {};
};

// Tokens of a row whose state existed before this step (semantics: compute-num-computed-tokens).

// Query length of one row. Requires: 0 <= row < num_reqs.
inline std::int32_t query_len(const CommonAttentionMetadata& common, std::int32_t row) {
  const auto i = static_cast<std::size_t>(row);
  return common.query_start_loc[i + 1] - common.query_start_loc[i];
}

// seq_len minus query length of one row; 0 for a padding row. Requires: 0 <= row < num_reqs.
inline std::int32_t num_computed_tokens(const CommonAttentionMetadata& common, std::int32_t row) {
  return common.seq_lens[static_cast<std::size_t>(row)] - query_len(common, row);
}

// What a row of the batch is. The class comes from the request (semantics: row-class); some
// policies guess it from the row's shape instead.
enum class RowClass : std::uint8_t {
  decode,   // one token that is no draft; no speculation configured
  verify,   // decode row under speculation: query length 1 + d, d >= 0 draft tokens
  prefill,  // tokens of the prompt, or of a resumed request that is computed again
  padding   // row of a captured graph without a request: query length 0
};

}  // namespace hybridscope
