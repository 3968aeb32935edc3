// What vectors have in common, read and checked: counts, block tables, batches, requests, state
// tensors and copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/metadata/block_table_gather.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/model/kv_cache_spec.h"
#include "core/state/copy_launch.h"
#include "core/state/mamba_state_idx.h"
#include "core/state/state_memory.h"
#include "sessions/conformance/planned_copies.h"
#include "sessions/text/json_value.h"

namespace hybridscope {

// Lists of lists of integers in a test vector.

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

// The largest token count, column or accepted count, either sign: sums and byte offsets made of
// them fit their types.
inline constexpr std::int32_t kMaxVectorCount = 1 << 26;
// The most requests, rows or slots of one case.
inline constexpr std::int32_t kMaxVectorRequests = 1 << 16;

// An integer, or an array of integers, within kMaxVectorCount. A non-negative `length` is the
// required length.
std::int32_t read_count(const JsonValue& value);
std::vector<std::int32_t> read_counts(const JsonValue& array, std::int64_t length = -1);

// `config.max_num_reqs`.
std::int32_t read_max_num_reqs(const JsonValue& config);

// Shape and stride have the same number of dimensions; the offsets of all elements fit 60 bits.
StateTensor read_state_tensor(const JsonValue& shape, const JsonValue& stride,
                              const JsonValue& elem_size);
// Reads `layout`: conv states are [blocks, state_len, dim] (SD) or [blocks, dim, state_len] (DS).
ConvStateLayout read_conv_state_layout(const JsonValue& config);
// Reads layout, block_size, mamba_groups and memory of `config`. Throws when a layer is in no mamba
// group or does not have one tensor per state kind.
MambaStateTensors read_mamba_state_tensors(const JsonValue& config);

// The flattened layout in the terms of ctx_init vectors, without mamba_group_ids.
nlohmann::json layout_json(const StateLayout& layout);

// One table per mamba group. Views of it stay valid while this object lives.
class VectorBlockTables {
 public:
  explicit VectorBlockTables(const JsonValue& block_tables);
  VectorBlockTables(const VectorBlockTables&) = delete;
  VectorBlockTables& operator=(const VectorBlockTables&) = delete;

  std::span<const TensorView<std::int32_t>> views() const { return views_; }
  // The tables of these mamba groups. Error: not one table per group.
  Result<std::vector<MambaBlockTable>> of_groups(
      std::span<const std::int32_t> mamba_group_ids) const;
  // Elements between two rows, for each table.
  std::vector<std::int64_t> row_strides() const;

 private:
  std::vector<VectorTable> tables_;
  std::vector<TensorView<std::int32_t>> views_;
};

// [group id, layer, state, src, dst, bytes] for each copy of one contiguous region.
nlohmann::json state_copies_json(const MambaStateTensors& tensors,
                                 std::span<const StateCopy> copies);
// [row, flat state, src, dst, row bytes, rows, row stride] for each copy.
nlohmann::json row_copies_json(std::span<const RowStateCopy> copies);
// A launch with one decision per row, carried out on these tables.
CopyLaunch launch_of(std::span<const StateCopyDecision> decisions, MambaBlockTables tables);
// The copies without their rows.
std::vector<StateCopy> without_rows(std::span<const RowStateCopy> copies);

// The requests of a vector: names in the file, ids in core.

// Gives each name a number, in order of first use.
class VectorRequests {
 public:
  RequestId id(const std::string& name);
  std::vector<RequestId> ids(std::span<const std::string> names);
  std::vector<RequestId> ids(const JsonValue& names) { return ids(names.strings()); }
  // {name: column}, and back.
  nlohmann::json state_idx_json(const MambaStateIdx& mamba_state_idx) const;
  MambaStateIdx state_idx(const JsonValue& object);

 private:
  std::map<std::string, RequestId> ids_;
  std::vector<std::string> names_;  // by id
};

// The requests that left, from the three lists of a step.
struct VectorGoneRequests {
  // Reads the members finished_req_ids, preempted_req_ids and resumed_req_ids of `step`.
  VectorGoneRequests(const JsonValue& step, VectorRequests& requests);
  GoneRequests view() const { return {finished, preempted, resumed}; }

  std::vector<RequestId> finished;
  std::vector<RequestId> preempted;
  std::vector<RequestId> resumed;
};

// A map's counts by request, in the order of `names`. Error: a name without an entry.
Result<std::vector<std::int32_t>> counts_of(std::span<const std::string> names,
                                            const JsonValue& counts);
// The counts of the names; a name without an entry has count 0.
std::vector<std::int32_t> counts_or_zero(std::span<const std::string> names,
                                         const JsonValue& counts);

}  // namespace hybridscope
