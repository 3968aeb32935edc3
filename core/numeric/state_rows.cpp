#include "core/numeric/state_rows.h"

namespace hybridscope {

std::vector<BoundaryState> boundary_states(const PrefillRows& rows, std::int32_t row) {
  std::vector<BoundaryState> found;
  const auto r = static_cast<std::size_t>(row);
  if (!rows.is_mode_all()) {
    if (!rows.checkpoint_offsets.empty() && rows.checkpoint_offsets[r] > 0)
      found.push_back({rows.checkpoint_offsets[r], rows.checkpoint_blocks[r]});
    return found;
  }
  const BoundaryColumns columns = boundary_columns(rows, row);
  const std::int32_t last = std::min(columns.last, rows.state_indices.cols);
  std::int32_t num_tokens = columns.num_tokens;
  for (std::int32_t column = std::max(columns.first, 0); column < last; ++column) {
    if (num_tokens <= rows.tokens(row).size())
      found.push_back({num_tokens, block_at(rows.state_indices, row, column)});
    num_tokens += rows.mamba_block_size;
  }
  return found;
}

}  // namespace hybridscope
