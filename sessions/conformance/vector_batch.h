// The batch object that vectors share, and other arrays of token counts.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/metadata/common_attention_metadata.h"
#include "core/model/kv_cache_spec.h"
#include "sessions/conformance/vector_table.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The limit, either sign, of token counts and positions: sums of a few of them fit 32 bits.
inline constexpr std::int32_t kMaxTokens = std::int32_t{1} << 28;

std::int32_t read_tokens(const JsonValue& value);
std::vector<std::int32_t> read_token_counts(const JsonValue& array);

// A size that core divides or allocates by: from `least` to kMaxTokens.
std::int32_t read_size(const JsonValue& value, std::int32_t least);

MambaCacheMode read_mamba_cache_mode(const JsonValue& value);

// Owns the arrays that CommonAttentionMetadata views. Sizes are those of the vector, even if they
// do not match: core has to check them.
struct VectorBatch {
  std::vector<std::int32_t> query_start_loc{};
  std::vector<std::int32_t> seq_lens{};
  std::int32_t num_reqs = 0;
  std::int32_t num_actual_tokens = 0;
  std::int32_t max_query_len = 0;
  VectorTable block_table{};
  std::vector<std::uint8_t> is_prefilling{};

  CommonAttentionMetadata view() const;
};

// Reads query_start_loc, num_reqs, num_actual_tokens, max_query_len and, if present, is_prefilling.
VectorBatch read_batch(const JsonValue& common);

// Also reads seq_lens and block_table.
VectorBatch read_batch_with_blocks(const JsonValue& common);

}  // namespace hybridscope
