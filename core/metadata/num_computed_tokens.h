// Tokens of a row whose state existed before this step (semantics: compute-num-computed-tokens).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/metadata/common_attention_metadata.h"

namespace hybridscope {

// Query length of one row. Requires: 0 <= row < num_reqs.
inline std::int32_t query_len(const CommonAttentionMetadata& common, std::int32_t row) {
  const auto i = static_cast<std::size_t>(row);
  return common.query_start_loc[i + 1] - common.query_start_loc[i];
}

// seq_len minus query length of one row; 0 for a padding row. Requires: 0 <= row < num_reqs.
inline std::int32_t num_computed_tokens(const CommonAttentionMetadata& common, std::int32_t row) {
  return common.seq_lens[static_cast<std::size_t>(row)] - query_len(common, row);
}

// The same for every row: int32 [num_reqs].
inline std::vector<std::int32_t> compute_num_computed_tokens(
    const CommonAttentionMetadata& common) {
  std::vector<std::int32_t> result(static_cast<std::size_t>(common.num_reqs));
  for (std::int32_t row = 0; row < common.num_reqs; ++row)
    result[static_cast<std::size_t>(row)] = num_computed_tokens(common, row);
  return result;
}

}  // namespace hybridscope
