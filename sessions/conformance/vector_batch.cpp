#include "sessions/conformance/vector_batch.h"

#include <array>

namespace hybridscope {

std::int32_t read_tokens(const JsonValue& value) { return value.int32({-kMaxTokens, kMaxTokens}); }

std::vector<std::int32_t> read_token_counts(const JsonValue& array) {
  std::vector<std::int32_t> counts = array.int32s();
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] < -kMaxTokens || counts[i] > kMaxTokens) counts[i] = read_tokens(array[i]);
  return counts;
}

std::int32_t read_size(const JsonValue& value, std::int32_t least) {
  return value.int32({least, kMaxTokens});
}

MambaCacheMode read_mamba_cache_mode(const JsonValue& value) {
  constexpr std::array kModes = {MambaCacheMode::none, MambaCacheMode::all, MambaCacheMode::align};
  return kModes[value.one_of({"none", "all", "align"})];
}

CommonAttentionMetadata VectorBatch::view() const {
  CommonAttentionMetadata common;
  common.query_start_loc = query_start_loc;
  common.seq_lens = seq_lens;
  common.num_reqs = num_reqs;
  common.num_actual_tokens = num_actual_tokens;
  common.max_query_len = max_query_len;
  common.block_table_tensor = block_table.view();
  common.is_prefilling = is_prefilling;
  return common;
}

VectorBatch read_batch(const JsonValue& common) {
  VectorBatch batch{.query_start_loc = read_token_counts(common["query_start_loc"]),
                    .num_reqs = common["num_reqs"].int32({0, kMaxTokens}),
                    .num_actual_tokens = read_tokens(common["num_actual_tokens"]),
                    .max_query_len = read_tokens(common["max_query_len"])};
  if (const auto is_prefilling = common.find_non_null("is_prefilling"))
    for (const JsonValue& row : is_prefilling->elements())
      batch.is_prefilling.push_back(row.boolean() ? 1 : 0);
  return batch;
}

VectorBatch read_batch_with_blocks(const JsonValue& common) {
  VectorBatch batch = read_batch(common);
  batch.seq_lens = read_token_counts(common["seq_lens"]);
  batch.block_table = read_table(common["block_table"]);
  return batch;
}

}  // namespace hybridscope
