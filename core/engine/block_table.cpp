#include "core/engine/block_table.h"

#include <algorithm>
#include <cstddef>

#include "core/base/check.h"
#include "core/base/ids.h"

namespace hybridscope {

BlockTable::BlockTable(std::int32_t max_num_reqs, std::int32_t max_num_blocks_per_req)
    : columns_(max_num_blocks_per_req),
      ids_(static_cast<std::size_t>(max_num_reqs) * static_cast<std::size_t>(columns_), kNullBlock),
      num_blocks_per_row_(static_cast<std::size_t>(max_num_reqs), 0) {}

std::int32_t* BlockTable::begin_of(std::int32_t row) {
  return ids_.data() + static_cast<std::ptrdiff_t>(row) * columns_;
}

void BlockTable::append_row(std::int32_t row, std::span<const std::int32_t> block_ids) {
  std::int32_t& length = num_blocks_per_row_[static_cast<std::size_t>(row)];
  HS_EXPECT(length + static_cast<std::int32_t>(block_ids.size()) <= columns_);
  std::copy(block_ids.begin(), block_ids.end(), begin_of(row) + length);
  length += static_cast<std::int32_t>(block_ids.size());
}

void BlockTable::add_row(std::int32_t row, std::span<const std::int32_t> block_ids) {
  num_blocks_per_row_[static_cast<std::size_t>(row)] = 0;
  append_row(row, block_ids);
}

void BlockTable::clear_row(std::int32_t row) {
  std::int32_t& length = num_blocks_per_row_[static_cast<std::size_t>(row)];
  std::fill_n(begin_of(row), length, kNullBlock);
  length = 0;
}

void BlockTable::move_row(std::int32_t from, std::int32_t to) {
  const std::int32_t length = num_blocks_per_row_[static_cast<std::size_t>(from)];
  std::copy_n(begin_of(from), length, begin_of(to));
  num_blocks_per_row_[static_cast<std::size_t>(to)] = length;
}

void BlockTable::swap_row(std::int32_t a, std::int32_t b) {
  std::swap_ranges(begin_of(a), begin_of(a) + columns_, begin_of(b));
  std::swap(num_blocks_per_row_[static_cast<std::size_t>(a)],
            num_blocks_per_row_[static_cast<std::size_t>(b)]);
}

void BlockTable::null_rows(std::int32_t first, std::int32_t last) {
  if (first < last) std::fill(begin_of(first), begin_of(last), kNullBlock);
}

std::span<const std::int32_t> BlockTable::row(std::int32_t row) const {
  return {ids_.data() + static_cast<std::ptrdiff_t>(row) * columns_,
          static_cast<std::size_t>(num_blocks_per_row_[static_cast<std::size_t>(row)])};
}

TensorView<std::int32_t> BlockTable::rows(std::int32_t num_rows) const {
  return matrix_view(ids_.data(), num_rows, columns_);
}

MambaBlockTable BlockTable::mamba_view(std::int32_t group) const {
  return {.group = group,
          .ids = rows(static_cast<std::int32_t>(num_blocks_per_row_.size())),
          .num_blocks_per_row = num_blocks_per_row_};
}

}  // namespace hybridscope
