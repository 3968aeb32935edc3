#include "core/metadata/block_table_gather.h"

#include <cstddef>
#include <cstring>
#include <string>

namespace hybridscope {
namespace {

// Writes the column of the last token of each row; returns the largest. Takes the divider by value
// so that the compiler knows that the stores do not change it.
std::int32_t find_starts(std::span<const std::int32_t> seq_lens, ReciprocalDivider block_size,
                         std::int32_t* starts) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < seq_lens.size(); ++i) {
    const std::int32_t start = first_window_column(seq_lens[i], block_size);
    starts[i] = start;
    largest = std::max(largest, start);
  }
  return largest;
}

// Copies rows of a compile-time width: a call of memmove per row would cost more than the copy.
// Source and target are different arrays.
template <std::int32_t kWidth>
void copy_narrow_rows(BlockTableWindow window, WindowRows rows, std::int32_t* out) {
  for (std::int32_t r = 0; r < rows.count; ++r)
    std::memcpy(out + r * kWidth, window.row(rows.first + r), kWidth * sizeof(std::int32_t));
}

}  // namespace

Result<BlockTableWindow> find_block_table_window(const BlockTableGatherInput& input,
                                                 std::span<std::int32_t> starts) {
  const TensorView<std::int32_t>& table = input.block_table;
  if (input.config.mamba_cache_mode != MambaCacheMode::align)
    return BlockTableWindow{table.data, nullptr, table.cols, table.rows, table.cols};
  const std::size_t rows = input.seq_lens.size();
  HS_EXPECT(starts.size() >= rows);
  const std::int32_t width = 1 + input.config.num_speculative_blocks;
  const std::int32_t largest = find_starts(input.seq_lens, input.config.block_size, starts.data());
  if (table.dims != 2 || static_cast<std::size_t>(table.rows) < rows)
    return invalid_input("block table has " + std::to_string(table.rows) + " rows for " +
                         std::to_string(rows) + " sequences");
  if (rows > 0 && largest > table.cols - width)
    return invalid_input("block table has " + std::to_string(table.cols) +
                         " columns, but a row needs columns " + std::to_string(largest) + " to " +
                         std::to_string(largest + width - 1));
  return BlockTableWindow{table.data, starts.data(), table.cols, static_cast<std::int32_t>(rows),
                          width};
}

void copy_window_rows(BlockTableWindow window, WindowRows rows, std::int32_t* out) {
  switch (rows.width) {
    case 1: return copy_narrow_rows<1>(window, rows, out);
    case 2: return copy_narrow_rows<2>(window, rows, out);
    case 3: return copy_narrow_rows<3>(window, rows, out);
    case 4: return copy_narrow_rows<4>(window, rows, out);
    default:
      for (std::int32_t r = 0; r < rows.count; ++r)
        out = std::copy_n(window.row(rows.first + r), rows.width, out);
  }
}

}  // namespace hybridscope
