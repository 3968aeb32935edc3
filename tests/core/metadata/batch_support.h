// Batches as the tests write them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/metadata/common_attention_metadata.h"

namespace hybridscope::test {

// Owns what CommonAttentionMetadata views.
struct Batch {
  std::vector<std::int32_t> query_start_loc{0};
  std::vector<std::int32_t> seq_lens{};
  std::int32_t num_actual_tokens = 0;
  std::int32_t max_query_len = 0;
  std::int32_t table_rows = 0;
  std::int32_t columns = 0;
  std::vector<std::int32_t> block_table{};  // [table_rows, columns]
  std::vector<std::uint8_t> is_prefilling{};

  CommonAttentionMetadata view() const;
  std::int32_t num_reqs() const { return static_cast<std::int32_t>(query_start_loc.size()) - 1; }
};

struct Row {
  std::int32_t num_computed_tokens = 0;
  std::int32_t query_len = 0;
};

// A batch of these rows without padded tokens. Row r has block ids 100 * (r + 1) + column.
Batch make_batch(std::span<const Row> rows, std::int32_t columns);
Batch make_batch(std::initializer_list<Row> rows, std::int32_t columns);

// Values of an int32 view.
std::vector<std::int32_t> values(const TensorView<std::int32_t>& view);
std::vector<int> flags(const TensorView<std::uint8_t>& view);

inline CommonAttentionMetadata Batch::view() const {
  CommonAttentionMetadata common;
  common.query_start_loc = query_start_loc;
  common.seq_lens = seq_lens;
  common.num_reqs = num_reqs();
  common.num_actual_tokens = num_actual_tokens;
  common.max_query_len = max_query_len;
  common.block_table_tensor = matrix_view(block_table.data(), table_rows, columns);
  common.is_prefilling = is_prefilling;
  return common;
}

inline Batch make_batch(std::span<const Row> rows, std::int32_t columns) {
  Batch batch;
  batch.columns = columns;
  for (const Row& row : rows) {
    batch.query_start_loc.push_back(batch.query_start_loc.back() + row.query_len);
    batch.seq_lens.push_back(row.num_computed_tokens + row.query_len);
    batch.max_query_len = std::max(batch.max_query_len, row.query_len);
    const std::int32_t first_block = 100 * batch.num_reqs();
    for (std::int32_t c = 0; c < columns; ++c) batch.block_table.push_back(first_block + c);
  }
  batch.num_actual_tokens = batch.query_start_loc.back();
  batch.table_rows = batch.num_reqs();
  return batch;
}

inline Batch make_batch(std::initializer_list<Row> rows, std::int32_t columns) {
  return make_batch(std::span<const Row>(rows.begin(), rows.size()), columns);
}

inline std::vector<std::int32_t> values(const TensorView<std::int32_t>& view) {
  return {view.data, view.data + view.size()};
}

inline std::vector<int> flags(const TensorView<std::uint8_t>& view) {
  return {view.data, view.data + view.size()};
}

}  // namespace hybridscope::test
