// Tokens of a row whose state existed before this step (semantics: compute-num-computed-tokens).
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace hybridscope
