#include "tests/core/metadata/batch_support.h"

#include <algorithm>

namespace hybridscope::test {
CommonAttentionMetadata Batch::view() const {
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

Batch make_batch(std::span<const Row> rows, std::int32_t columns) {
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

Batch make_batch(std::initializer_list<Row> rows, std::int32_t columns) {
  return make_batch(std::span<const Row>(rows.begin(), rows.size()), columns);
}

std::vector<std::int32_t> values(const TensorView<std::int32_t>& view) {
  return {view.data, view.data + view.size()};
}

std::vector<int> flags(const TensorView<std::uint8_t>& view) {
  return {view.data, view.data + view.size()};
}

}  // namespace hybridscope::test
