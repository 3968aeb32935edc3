// Chunks of random prompt rows: as builders cut them, or with faults planted in their arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/numeric/recurrences.h"
#include "tests/kernels/numeric/numeric_case.h"

namespace hybridscope::test {

// From each row's first token on; with a checkpoint, up to it.
inline std::vector<RowChunk> random_row_chunks(NumericDraw& draw, const PrefillRows& rows) {
  const std::int32_t size = draw.one_of<std::int32_t>({1, 5, 16, 64, 64, 64, 100});
  std::vector<RowChunk> chunks;
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens tokens = rows.tokens(row);
    const std::int32_t checkpoint =
        rows.checkpoint_offsets.empty()
            ? 0
            : tokens.first + rows.checkpoint_offsets[static_cast<std::size_t>(row)];
    for (std::int32_t first = tokens.first; first < tokens.last;) {
      std::int32_t end = std::min(first + size, tokens.last);
      if (first < checkpoint) end = std::min(end, checkpoint);
      chunks.push_back({row, first, end});
      first = end;
    }
  }
  return chunks;
}

// Owns the arrays of Mamba2Chunks.
class RandomMamba2Chunks {
 public:
  // Cut at multiples of the chunk size of each row's own positions, and at checkpoints.
  RandomMamba2Chunks(NumericDraw& draw, const PrefillRows& rows) : size_(random_size(draw, rows)) {
    for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
      const auto r = static_cast<std::size_t>(row);
      const BatchTokens tokens = rows.tokens(row);
      const std::int32_t computed = rows.is_mode_all() ? rows.num_computed_tokens[r] : 0;
      const std::int32_t checkpoint =
          rows.checkpoint_offsets.empty() ? 0 : tokens.first + rows.checkpoint_offsets[r];
      for (std::int32_t first = tokens.first; first < tokens.last;) {
        const std::int32_t position = computed + first - tokens.first;
        std::int32_t end = std::min(first + size_ - position % size_, tokens.last);
        if (first < checkpoint) end = std::min(end, checkpoint);
        ends_.push_back(end);
        rows_.push_back(row);
        first = end;
      }
      last_.push_back(static_cast<std::int32_t>(rows_.size()) - 1);
    }
  }
  // Changes one number of one array.
  void plant(NumericDraw& draw, std::int32_t num_tokens) {
    if (rows_.empty()) return;
    const auto element = [&draw](std::vector<std::int32_t>& values) -> std::int32_t& {
      return values[static_cast<std::size_t>(
          draw.number(0, static_cast<std::int32_t>(values.size()) - 1))];
    };
    const auto num_rows = static_cast<std::int32_t>(last_.size());
    switch (draw.number(0, 2)) {
      case 0: element(ends_) = draw.number(-2, num_tokens + 2); break;
      case 1: element(rows_) = draw.number(-1, num_rows); break;
      default: element(last_) = draw.number(-1, static_cast<std::int32_t>(rows_.size()));
    }
  }
  Mamba2Chunks view() const { return {ends_, rows_, last_, size_}; }

 private:
  static std::int32_t random_size(NumericDraw& draw, const PrefillRows& rows) {
    if (!rows.is_mode_all()) return draw.one_of<std::int32_t>({1, 7, 16, 64, 128, 256});
    std::vector<std::int32_t> divisors;
    for (std::int32_t size = 1; size <= rows.mamba_block_size; ++size)
      if (rows.mamba_block_size % size == 0) divisors.push_back(size);
    return draw.one_of(divisors);
  }

  std::int32_t size_;
  std::vector<std::int32_t> ends_{0}, rows_, last_;
};

// Changes one number of one chunk.
inline void plant_in(std::vector<RowChunk>& chunks, NumericDraw& draw, std::int32_t num_rows,
                     std::int32_t num_tokens) {
  if (chunks.empty()) return;
  RowChunk& chunk = chunks[static_cast<std::size_t>(
      draw.number(0, static_cast<std::int32_t>(chunks.size()) - 1))];
  switch (draw.number(0, 2)) {
    case 0: chunk.row = draw.number(-1, num_rows); break;
    case 1: chunk.first = draw.number(-1, num_tokens); break;
    default: chunk.last = draw.number(-1, num_tokens + 1);
  }
}

}  // namespace hybridscope::test
