// Block columns that an "all" mode kernel reads and writes for one row
// (semantics: prefix-caching-block-indices).
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/math.h"

namespace hybridscope {

struct PrefixBlockIndices {
  std::int32_t block_idx_last_computed_token = 0;    // at least 0
  std::int32_t block_idx_first_scheduled_token = 0;  // of token num_computed_tokens
  std::int32_t block_idx_last_scheduled_token = 0;   // at least 0 (padding row: seq_len 0)
  friend bool operator==(const PrefixBlockIndices&, const PrefixBlockIndices&) = default;
};

struct PrefixBlockIndicesInput {
  std::int32_t num_computed_tokens = 0;
  std::int32_t seq_len = 0;     // computed + scheduled tokens
  std::int32_t block_size = 1;  // tokens per mamba block, positive
};

// Columns of the last computed, the first scheduled and the last scheduled token of one row.
constexpr PrefixBlockIndices compute_prefix_block_indices(const PrefixBlockIndicesInput& row) {
  // The token with 1-based number n lies in column ceil(n / block_size) - 1 = floor((n-1) / size).
  const auto column = [&row](std::int32_t n) { return floor_div(n - 1, row.block_size); };
  return {std::max(column(row.num_computed_tokens), 0), column(row.num_computed_tokens + 1),
          std::max(column(row.seq_len), 0)};
}

}  // namespace hybridscope
