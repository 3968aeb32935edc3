// Which columns of the block table the Mamba builders use
// (semantics: mamba-get-block-table-tensor): the whole table, or in align mode the running column
// of each row and its speculative columns.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "core/base/math.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"
#include "core/model/kv_cache_spec.h"

namespace hybridscope {

// Division of non-negative 31-bit numbers by a divisor that is set once: a multiplication and a
// shift. The block table gather divides once per row and step.

class ReciprocalDivider {
 public:
  // Requires: divisor > 0.
  constexpr explicit ReciprocalDivider(std::int32_t divisor) : divisor_(divisor) {
    HS_EXPECT(divisor > 0);
    // With 2^(l-1) < divisor <= 2^l, m = floor(2^(31+l) / divisor) + 1 < 2^32 exceeds the true
    // reciprocal by less than 2^l / 2^(31+l), too little to reach the next integer for n < 2^31.
    const auto l =
        static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint32_t>(divisor) - 1U));
    shift_ = 31U + l;
    multiplier_ = static_cast<std::uint32_t>(
        (std::uint64_t{1} << shift_) / static_cast<std::uint64_t>(divisor) + 1);
  }

  // n / divisor rounded down. Requires: n >= 0.
  HS_HOST_DEVICE constexpr std::int32_t divide(std::int32_t n) const {
    return static_cast<std::int32_t>(
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(n)) * multiplier_) >> shift_);
  }

  constexpr std::int32_t divisor() const { return divisor_; }

 private:
  std::int32_t divisor_;
  std::uint32_t shift_ = 0;
  std::uint32_t multiplier_ = 0;
};

// Align mode: the column of a row's last token. A padding row (length 0) starts at column 0.
HS_HOST_DEVICE constexpr std::int32_t first_window_column(std::int32_t seq_len,
                                                          const ReciprocalDivider& block_size) {
  return block_size.divide(seq_len > 1 ? seq_len - 1 : 0);
}

// What stays the same over all calls of one builder.
struct BlockTableGatherConfig {
  MambaCacheMode mamba_cache_mode = MambaCacheMode::none;
  ReciprocalDivider block_size{1};  // tokens per block
  std::int32_t num_speculative_blocks = 0;
};

struct BlockTableGatherInput {
  BlockTableGatherConfig config{};
  TensorView<std::int32_t> block_table{};    // [num_reqs, columns]
  std::span<const std::int32_t> seq_lens{};  // [num_reqs], read in align mode only
};

// The gathered tensor, [rows, width], as a view: row r is the `width` block ids from `row(r)` on.
// Points into the caller's table and start array.
struct BlockTableWindow {
  const std::int32_t* data = nullptr;
  const std::int32_t* starts = nullptr;  // [rows] first column of each row; null: 0
  std::int32_t stride = 0;               // columns of the table
  std::int32_t rows = 0;
  std::int32_t width = 0;

  const std::int32_t* row(std::int32_t r) const {
    return data + static_cast<std::int64_t>(r) * stride + (starts == nullptr ? 0 : starts[r]);
  }
};

// Finds the window; `starts` is storage of at least seq_lens.size() elements (align mode only) that
// the result keeps pointing to. Errors: a column outside the table in any row; fewer table rows
// than seq_lens.
Result<BlockTableWindow> find_block_table_window(const BlockTableGatherInput& input,
                                                 std::span<std::int32_t> starts);

struct WindowRows {
  std::int32_t first = 0;
  std::int32_t count = 0;
  std::int32_t width = 1;  // columns copied, at most the window's
};

// Writes [count, width] block ids of the window to `out`. Takes its arguments by value so that the
// compiler may assume that the stores do not change them. Requires: rows inside the window.
void copy_window_rows(BlockTableWindow window, WindowRows rows, std::int32_t* out);

// Block columns that an "all" mode kernel reads and writes for one row
// (semantics: prefix-caching-block-indices).

struct PrefixBlockIndices {
  std::int32_t block_idx_last_computed_token = 0;    // at least 0
  std::int32_t block_idx_first_scheduled_token = 0;  // of token num_computed_tokens
  std::int32_t block_idx_last_scheduled_token = 0;   // at least 0 (padding row: seq_len 0)
  friend bool operator==(const PrefixBlockIndices&, const PrefixBlockIndices&) = default;
};

struct PrefixBlockIndicesInput {
  std::int32_t num_computed_tokens = 0;
  std::int32_t seq_len = 0;     // computed + scheduled tokens
  std::int32_t block_size = 1;  // tokens per mamba block, positive
};

// Columns of the last computed, the first scheduled and the last scheduled token of one row.
constexpr PrefixBlockIndices compute_prefix_block_indices(const PrefixBlockIndicesInput& row) {
  // The token with 1-based number n lies in column ceil(n / block_size) - 1 = floor((n-1) / size).
  const auto column = [&row](std::int32_t n) { return floor_div(n - 1, row.block_size); };
  return {std::max(column(row.num_computed_tokens), 0), column(row.num_computed_tokens + 1),
          std::max(column(row.seq_len), 0)};
}

}  // namespace hybridscope
