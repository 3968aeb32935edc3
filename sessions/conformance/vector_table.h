// Lists of lists of integers in a test vector.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/tensor_view.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/copy_launch.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// The most elements that one case may ask to allocate: sizes in a vector are not trusted.
inline constexpr std::int64_t kMaxVectorElements = std::int64_t{1} << 21;

// A table whose rows have equal length, stored row by row.
struct VectorTable {
  std::int32_t rows = 0;
  std::int32_t cols = 0;
  std::vector<std::int32_t> data;  // [rows, cols]

  TensorView<std::int32_t> view() const { return matrix_view(data.data(), rows, cols); }
};

// An array of equally long arrays of integers.
VectorTable read_table(const JsonValue& value);
// An array of this shape, [rows, cols]: an empty one does not show its columns.
VectorTable read_table(const JsonValue& value, const JsonValue& shape);

// The batch object that vectors share, and other arrays of token counts.

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

// The block ids that a vector lists by request, as block tables of the mamba groups.

// Block ids of one request: [num_kv_cache_groups][columns].
using RequestBlockIds = std::vector<std::vector<std::int32_t>>;

// One row per request. Its tables stay valid while this object lives.
class RequestBlockTables {
 public:
  // `columns`: the least width of every table; a longer list makes it wider.
  RequestBlockTables(std::span<const RequestBlockIds> block_ids,
                     std::span<const std::int32_t> mamba_group_ids, std::int32_t columns = 0);
  RequestBlockTables(const RequestBlockTables&) = delete;
  RequestBlockTables& operator=(const RequestBlockTables&) = delete;

  // Tables whose rows end with their request's list.
  std::vector<MambaBlockTable> lists() const;
  // Tables whose rows are padded with null blocks.
  std::vector<MambaBlockTable> padded() const;

 private:
  struct Group {
    std::int32_t group = -1;
    VectorTable table;
    std::vector<std::int32_t> num_blocks_per_row;
  };
  std::vector<Group> groups_;
};

// The gathered block table as one tensor, which the vectors compare; the builders copy its rows to
// where they need them. Header only, so that tests that link little can use it.

// mamba_get_block_table_tensor (semantics: mamba-get-block-table-tensor). none, all: a view of the
// table. align: int32 [seq_lens.size(), 1 + num_speculative_blocks] written to `storage`, which
// needs (2 + num_speculative_blocks) * seq_lens.size() elements. Errors: find_block_table_window's,
// storage too small.
inline Result<TensorView<std::int32_t>> mamba_get_block_table_tensor(
    const BlockTableGatherInput& input, std::span<std::int32_t> storage) {
  if (input.config.mamba_cache_mode != MambaCacheMode::align) return input.block_table;
  const std::size_t rows = input.seq_lens.size();
  const std::size_t width = static_cast<std::size_t>(input.config.num_speculative_blocks) + 1;
  if (storage.size() < (width + 1) * rows)
    return invalid_input("storage of " + std::to_string(storage.size()) + " elements for " +
                         std::to_string(rows) + " rows of " + std::to_string(width + 1));
  const auto window = find_block_table_window(input, storage.last(rows));
  if (!window) return window.error();
  const BlockTableWindow& found = window.value();
  copy_window_rows(found, {.count = found.rows, .width = found.width}, storage.data());
  return matrix_view<std::int32_t>(storage.data(), found.rows, found.width);
}

}  // namespace hybridscope
