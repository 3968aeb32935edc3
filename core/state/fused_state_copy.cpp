#include "core/state/fused_state_copy.h"

#include <string>

namespace hybridscope {
namespace {

Result<std::int32_t> table_entry(const TensorView<std::int32_t>& table, std::int32_t row,
                                 std::int32_t column) {
  if (row < 0 || row >= table.rows || column < 0 || column >= table.cols)
    return invalid_input("block table entry [" + std::to_string(row) + ", " +
                         std::to_string(column) + "] is outside its shape [" +
                         std::to_string(table.rows) + ", " + std::to_string(table.cols) + "]");
  return table.at(row, column);
}

Result<std::int32_t> state_block(const StateLayout& layout, std::int32_t state_index,
                                 const TensorView<std::int32_t>& table, std::int32_t row,
                                 std::int32_t column) {
  Result<std::int32_t> block = table_entry(table, row, column);
  if (!block) return block;
  const std::int64_t num_blocks = layout.state_num_blocks[static_cast<std::size_t>(state_index)];
  if (block.value() < 0 || block.value() >= num_blocks)
    return invalid_input("block " + std::to_string(block.value()) + " in row " +
                         std::to_string(row) + ", column " + std::to_string(column) +
                         " is outside state " + std::to_string(state_index) + " of " +
                         std::to_string(num_blocks) + " blocks");
  return block;
}

}  // namespace

Status append_row_copies(const StateLayout& layout, BlockTables block_tables,
                         const FusedCopyRow& row, std::vector<RowStateCopy>& copies) {
  if (row.columns.accept_token_bias < 0)
    return invalid_input("accept_token_bias " + std::to_string(row.columns.accept_token_bias) +
                         " of row " + std::to_string(row.row) + " is negative");
  if (block_tables.size() != layout.mamba_group_ids.size())
    return invalid_input("expected " + std::to_string(layout.mamba_group_ids.size()) +
                         " block tables, got " + std::to_string(block_tables.size()));
  for (std::int32_t state = 0; state < layout.num_states(); ++state) {
    const StateGeometry geometry = layout.geometry(state);
    const auto& table = block_tables[static_cast<std::size_t>(geometry.group_index)];
    const Result<std::int32_t> dst =
        state_block(layout, state, table, row.row, row.columns.dst_col);
    if (!dst) return dst.error();
    const Result<std::int32_t> src =
        state_block(layout, state, table, row.row, source_column(geometry, row.columns));
    if (!src) return src.error();
    const StateCopy copy = make_state_copy(state, geometry,
                                           {.src_block = src.value(),
                                            .dst_block = dst.value(),
                                            .accept_token_bias = row.columns.accept_token_bias});
    if (copy.row_bytes > 0 && copy.num_rows > 0) copies.push_back({row.row, copy});
  }
  return Ok{};
}

}  // namespace hybridscope
