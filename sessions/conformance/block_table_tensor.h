// The gathered block table as one tensor, which the vectors compare; the builders copy its rows to
// where they need them. Header only, so that tests that link little can use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/metadata/block_table_gather.h"

namespace hybridscope {

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
