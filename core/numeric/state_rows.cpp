#include "core/numeric/state_rows.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {

BatchTokens DecodeRows::tokens(std::int32_t row) const {
  if (query_start_loc.empty()) return {row, row + 1};
  const auto r = static_cast<std::size_t>(row);
  return {query_start_loc[r], query_start_loc[r + 1]};
}

std::int32_t DecodeRows::offset(std::int32_t row) const {
  if (num_accepted_tokens.empty()) return 0;
  return std::max(num_accepted_tokens[static_cast<std::size_t>(row)] - 1, 0);
}

std::int32_t DecodeRows::at(std::int32_t row, std::int32_t column) const {
  HS_EXPECT(column >= 0 && column < state_indices.cols);
  return state_indices.at(row, column);
}

std::int32_t DecodeRows::source(std::int32_t row, std::int32_t offset) const {
  const auto r = static_cast<std::size_t>(row);
  return at(row, (source_column.empty() ? 0 : source_column[r]) + offset);
}

std::int32_t DecodeRows::destination(std::int32_t row, std::int32_t t) const {
  const auto r = static_cast<std::size_t>(row);
  return at(row, (destination_column.empty() ? 0 : destination_column[r]) + t);
}

BatchTokens PrefillRows::tokens(std::int32_t row) const {
  const auto r = static_cast<std::size_t>(row);
  return {query_start_loc[r], query_start_loc[r + 1]};
}

std::int32_t PrefillRows::source(std::int32_t row) const {
  const auto r = static_cast<std::size_t>(row);
  return state_indices.at(row, is_mode_all() ? block_idx_last_computed_token[r] : 0);
}

std::int32_t PrefillRows::destination(std::int32_t row) const {
  const auto r = static_cast<std::size_t>(row);
  return state_indices.at(row, is_mode_all() ? block_idx_last_scheduled_token[r] : 0);
}

std::vector<BoundaryState> boundary_states(const PrefillRows& rows, std::int32_t row) {
  std::vector<BoundaryState> found;
  if (!rows.is_mode_all()) return found;
  const auto r = static_cast<std::size_t>(row);
  const std::int32_t computed = rows.num_computed_tokens[r];
  const std::int32_t size = rows.mamba_block_size;
  std::int32_t boundary = (computed / size + 1) * size;
  for (std::int32_t column = rows.block_idx_first_scheduled_token[r];
       column < rows.block_idx_last_scheduled_token[r]; ++column, boundary += size)
    found.push_back({boundary - computed, rows.state_indices.at(row, column)});
  return found;
}

}  // namespace hybridscope
