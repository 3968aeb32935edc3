#include "sessions/conformance/vector_table.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cstddef>

#include "core/base/ids.h"

namespace hybridscope {

VectorTable read_table(const JsonValue& value) {
  VectorTable table;
  value.each_element([&](const JsonValue& row) {
    const std::vector<std::int32_t> values = row.int32s(table.rows == 0 ? -1 : table.cols);
    ++table.rows;
    table.cols = static_cast<std::int32_t>(values.size());
    table.data.insert(table.data.end(), values.begin(), values.end());
  });
  return table;
}

VectorTable read_table(const JsonValue& value, const JsonValue& shape) {
  const std::vector<std::int32_t> dims = shape.int32s(2);
  VectorTable found = read_table(value);
  if (found.rows == 0) found.cols = dims[1];
  if (dims[0] < 0 || dims[1] < 0 || found.rows != dims[0] || found.cols != dims[1])
    shape.fail(fmt::format("expected the shape of the table, [{}, {}], found [{}, {}]", found.rows,
                           found.cols, dims[0], dims[1]));
  return found;
}

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

RequestBlockTables::RequestBlockTables(std::span<const RequestBlockIds> block_ids,
                                       std::span<const std::int32_t> mamba_group_ids,
                                       std::int32_t columns) {
  static const std::vector<std::int32_t> kNoBlocks;
  for (const std::int32_t group : mamba_group_ids) {
    const auto ids_of = [group](const RequestBlockIds& lists) -> const std::vector<std::int32_t>& {
      return static_cast<std::size_t>(group) < lists.size() ? lists[static_cast<std::size_t>(group)]
                                                            : kNoBlocks;
    };
    Group made{.group = group, .table = {}, .num_blocks_per_row = {}};
    made.table.rows = static_cast<std::int32_t>(block_ids.size());
    made.table.cols = columns;
    for (const RequestBlockIds& lists : block_ids)
      made.table.cols = std::max(made.table.cols, static_cast<std::int32_t>(ids_of(lists).size()));
    for (const RequestBlockIds& lists : block_ids) {
      const std::vector<std::int32_t>& ids = ids_of(lists);
      made.num_blocks_per_row.push_back(static_cast<std::int32_t>(ids.size()));
      made.table.data.insert(made.table.data.end(), ids.begin(), ids.end());
      made.table.data.resize(
          made.num_blocks_per_row.size() * static_cast<std::size_t>(made.table.cols), kNullBlock);
    }
    groups_.push_back(std::move(made));
  }
}

std::vector<MambaBlockTable> RequestBlockTables::lists() const {
  std::vector<MambaBlockTable> tables = padded();
  for (std::size_t i = 0; i < tables.size(); ++i)
    tables[i].num_blocks_per_row = groups_[i].num_blocks_per_row;
  return tables;
}

std::vector<MambaBlockTable> RequestBlockTables::padded() const {
  std::vector<MambaBlockTable> tables;
  for (const Group& group : groups_)
    tables.push_back({.group = group.group, .ids = group.table.view(), .num_blocks_per_row = {}});
  return tables;
}

}  // namespace hybridscope
