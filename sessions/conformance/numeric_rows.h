// The metadata of a batch in vectors of real recurrences, whose sizes are checked before core reads
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/numeric/paged_attention.h"
#include "core/numeric/state_rows.h"
#include "sessions/conformance/vector_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Own the arrays that rows() views. `num_tokens`: of the batch.
class NumericDecodeRows {
 public:
  // `num_blocks`: of the pool.
  NumericDecodeRows(const JsonValue& input, std::int32_t num_tokens, std::int32_t num_blocks);
  DecodeRows rows() const;

 private:
  VectorTable state_indices_;
  std::vector<std::int32_t> query_start_loc_, num_accepted_tokens_, source_column_,
      destination_column_;
};

class NumericPrefillRows {
 public:
  NumericPrefillRows(const JsonValue& input, std::int32_t num_tokens, std::int32_t num_blocks);
  PrefillRows rows() const;

 private:
  VectorTable state_indices_;
  std::vector<std::int32_t> query_start_loc_, first_scheduled_, last_scheduled_, last_computed_,
      num_computed_tokens_;
  std::vector<std::uint8_t> has_initial_states_;
  std::int32_t mamba_block_size_ = 0;
};

class NumericAttentionRows {
 public:
  NumericAttentionRows(const JsonValue& input, std::int32_t num_tokens, std::int32_t num_blocks,
                       std::int32_t block_size);
  AttentionRows rows() const;

 private:
  VectorTable block_table_;
  std::vector<std::int32_t> query_start_loc_, seq_lens_;
};

}  // namespace hybridscope
