#include "core/engine/block_table.h"

#include <algorithm>
#include <cstddef>

#include "core/base/ids.h"
#include "core/base/result.h"

namespace hybridscope {

BlockTable::BlockTable(std::int32_t max_num_reqs, std::int32_t max_num_blocks_per_req)
    : columns_(max_num_blocks_per_req),
      num_blocks_per_row_(static_cast<std::size_t>(max_num_reqs), 0) {}

std::int32_t BlockTable::num_rows() const {
  if (columns_ == 0) return static_cast<std::int32_t>(num_blocks_per_row_.size());
  return static_cast<std::int32_t>(ids_.size() / static_cast<std::size_t>(columns_));
}

void BlockTable::make_rows(std::int32_t num_rows) {
  if (num_rows <= this->num_rows()) return;
  HS_EXPECT(num_rows <= static_cast<std::int32_t>(num_blocks_per_row_.size()));
  ids_.resize(static_cast<std::size_t>(num_rows) * static_cast<std::size_t>(columns_), kNullBlock);
}

std::int32_t* BlockTable::begin_of(std::int32_t row) {
  make_rows(row + 1);
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
  make_rows(std::max(from, to) + 1);
  const std::int32_t length = num_blocks_per_row_[static_cast<std::size_t>(from)];
  std::copy_n(begin_of(from), length, begin_of(to));
  num_blocks_per_row_[static_cast<std::size_t>(to)] = length;
}

void BlockTable::swap_row(std::int32_t a, std::int32_t b) {
  make_rows(std::max(a, b) + 1);
  std::swap_ranges(begin_of(a), begin_of(a) + columns_, begin_of(b));
  std::swap(num_blocks_per_row_[static_cast<std::size_t>(a)],
            num_blocks_per_row_[static_cast<std::size_t>(b)]);
}

void BlockTable::null_rows(std::int32_t first, std::int32_t last) {
  make_rows(last);
  for (std::int32_t row = first; row < last; ++row)
    std::fill_n(begin_of(row), columns_, kNullBlock);
}

std::span<const std::int32_t> BlockTable::row(std::int32_t row) const {
  const std::int32_t length = num_blocks_per_row_[static_cast<std::size_t>(row)];
  if (length == 0) return {};  // perhaps no row yet
  return {ids_.data() + static_cast<std::ptrdiff_t>(row) * columns_,
          static_cast<std::size_t>(length)};
}

TensorView<std::int32_t> BlockTable::rows(std::int32_t num_rows) const {
  HS_EXPECT(num_rows <= this->num_rows());
  return matrix_view(ids_.data(), num_rows, columns_);
}

MambaBlockTable BlockTable::mamba_view(std::int32_t group) const {
  return {.group = group,
          .ids = rows(num_rows()),
          .num_blocks_per_row =
              std::span(num_blocks_per_row_).first(static_cast<std::size_t>(num_rows()))};
}

}  // namespace hybridscope
