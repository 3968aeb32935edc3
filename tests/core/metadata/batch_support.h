// Batches as the tests write them.
#pragma once

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

}  // namespace hybridscope::test
