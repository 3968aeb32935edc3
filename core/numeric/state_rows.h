// Which block of a state pool each row of a batch reads and writes, as the arrays of the metadata
// builders say (numerics: arrays). Nothing here knows a request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/math.h"
#include "core/base/result.h"
#include "core/base/tensor_view.h"

namespace hybridscope {

// The blocks of one state of one layer, float32. Block 0 is the null block; ids below are padding.
struct StatePool {
  std::span<float> data;  // [num_blocks, block_elements]
  std::int64_t block_elements = 0;
  std::int64_t stride = 0;  // elements from a block to the next; 0: block_elements

  // Requires: 0 <= id < num_blocks.
  std::span<float> block(std::int32_t id) const {
    return data.subspan(static_cast<std::size_t>(id * (stride == 0 ? block_elements : stride)),
                        static_cast<std::size_t>(block_elements));
  }
};

// Is it a block that a row may read or write?
HS_HOST_DEVICE constexpr bool is_state_block(std::int32_t id) { return id > 0; }

// The block in a column of a row; a column that the table does not have is no block.
HS_HOST_DEVICE inline std::int32_t block_at(const TensorView<std::int32_t>& table, std::int32_t row,
                                            std::int32_t column) {
  return column >= 0 && column < table.cols ? table.at(row, column) : kPadSlotId;
}

// Tokens [first, last) of the batch.
struct BatchTokens {
  std::int32_t first = 0;
  std::int32_t last = 0;
  HS_HOST_DEVICE std::int32_t size() const { return last - first; }
};

// Decode and verify rows. Arrays that a mode does not have are empty; a column outside the table is
// no block.
struct DecodeRows {
  TensorView<std::int32_t> state_indices;               // [rows, columns] block ids
  std::span<const std::int32_t> query_start_loc{};      // [rows + 1]; empty: token r is row r's
  std::span<const std::int32_t> num_accepted_tokens{};  // [rows] 1 + accepted drafts
  // Mode all: [rows] the base columns; empty: column 0.
  std::span<const std::int32_t> source_column{};
  std::span<const std::int32_t> destination_column{};
  std::span<const std::int32_t> conv_source_column{};  // empty: source_column

  HS_HOST_DEVICE std::int32_t num_rows() const { return state_indices.rows; }
  HS_HOST_DEVICE BatchTokens tokens(std::int32_t row) const {
    if (query_start_loc.empty()) return {row, row + 1};
    const auto r = static_cast<std::size_t>(row);
    return {query_start_loc[r], query_start_loc[r + 1]};
  }
  // The accepted tokens of the row's last step, less the one that is always there: 0 without
  // counts.
  HS_HOST_DEVICE std::int32_t offset(std::int32_t row) const {
    if (num_accepted_tokens.empty()) return 0;
    const std::int32_t accepted = num_accepted_tokens[static_cast<std::size_t>(row)];
    return accepted > 1 ? accepted - 1 : 0;
  }
  // The block of the base source column, and of the one that `offset` columns further holds what
  // the row continues.
  HS_HOST_DEVICE std::int32_t source(std::int32_t row, std::int32_t offset) const {
    const auto r = static_cast<std::size_t>(row);
    return at(row, (source_column.empty() ? 0 : source_column[r]) + offset);
  }
  HS_HOST_DEVICE std::int32_t conv_source(std::int32_t row) const {
    if (conv_source_column.empty()) return source(row, 0);
    return at(row, conv_source_column[static_cast<std::size_t>(row)]);
  }
  // Where the state after the row's query token t goes; 0: nowhere.
  HS_HOST_DEVICE std::int32_t destination(std::int32_t row, std::int32_t t) const {
    const auto r = static_cast<std::size_t>(row);
    return at(row, (destination_column.empty() ? 0 : destination_column[r]) + t);
  }

 private:
  HS_HOST_DEVICE std::int32_t at(std::int32_t row, std::int32_t column) const {
    return block_at(state_indices, row, column);
  }
};

// Rows of prompt tokens. `query_start_loc` starts at 0, behind the decode rows.
struct PrefillRows {
  std::span<const std::int32_t> query_start_loc;     // [rows + 1]
  std::span<const std::uint8_t> has_initial_states;  // [rows]
  TensorView<std::int32_t> state_indices;  // [rows], or in mode all [rows, columns], block ids
  // Mode all: [rows] columns, and computed tokens; else empty and 0.
  std::span<const std::int32_t> block_idx_first_scheduled_token{};
  std::span<const std::int32_t> block_idx_last_scheduled_token{};
  std::span<const std::int32_t> block_idx_last_computed_token{};
  std::span<const std::int32_t> num_computed_tokens{};
  std::int32_t mamba_block_size = 0;  // tokens
  // Other modes: the state after so many tokens of the row (0: none) goes to a block too.
  std::span<const std::int32_t> checkpoint_offsets{};  // [rows], or empty
  std::span<const std::int32_t> checkpoint_blocks{};   // [rows]

  HS_HOST_DEVICE std::int32_t num_rows() const {
    return static_cast<std::int32_t>(has_initial_states.size());
  }
  HS_HOST_DEVICE bool is_mode_all() const { return mamba_block_size > 0; }
  HS_HOST_DEVICE BatchTokens tokens(std::int32_t row) const {
    const auto r = static_cast<std::size_t>(row);
    return {query_start_loc[r], query_start_loc[r + 1]};
  }
  // The block of the state that the row continues; nothing of it may be read without an initial
  // state.
  HS_HOST_DEVICE std::int32_t source(std::int32_t row) const {
    const auto r = static_cast<std::size_t>(row);
    return block_at(state_indices, row, is_mode_all() ? block_idx_last_computed_token[r] : 0);
  }
  HS_HOST_DEVICE bool has_initial_state(std::int32_t row) const {
    return has_initial_states[static_cast<std::size_t>(row)] != 0 && is_state_block(source(row));
  }
  // The block for the state after the row's last token; 0: nowhere.
  HS_HOST_DEVICE std::int32_t destination(std::int32_t row) const {
    const auto r = static_cast<std::size_t>(row);
    return block_at(state_indices, row, is_mode_all() ? block_idx_last_scheduled_token[r] : 0);
  }
};

// Mode all: the states after `num_tokens` tokens of a row, and after each further block's, go to
// the blocks of columns [first, last). No column in other modes.
struct BoundaryColumns {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t num_tokens = 0;
};
HS_HOST_DEVICE inline BoundaryColumns boundary_columns(const PrefillRows& rows, std::int32_t row) {
  if (!rows.is_mode_all()) return {};
  const auto r = static_cast<std::size_t>(row);
  const std::int32_t within_block = rows.num_computed_tokens[r] % rows.mamba_block_size;
  return {.first = rows.block_idx_first_scheduled_token[r],
          .last = rows.block_idx_last_scheduled_token[r],
          .num_tokens = rows.mamba_block_size - within_block};
}

// The state after `num_tokens` tokens of the row goes to `block` too.
struct BoundaryState {
  std::int32_t num_tokens = 0;
  std::int32_t block = 0;
};
// The boundaries of one row in ascending order.
std::vector<BoundaryState> boundary_states(const PrefillRows& rows, std::int32_t row);

// How a recurrent state moves from block to block while a batch's rows run, for every kind of layer
// whose state is folded token by token (numerics: arrays, form recurrent).

// `step(state, token)` folds one token of the batch into the state and writes the token's output.
// A row whose source is no block is skipped whole: it reads nothing and writes nothing.
template <class Step>
void run_decode_rows(const DecodeRows& rows, const StatePool& pool, Step&& step) {
  std::vector<float> state(static_cast<std::size_t>(pool.block_elements));
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens tokens = rows.tokens(row);
    if (tokens.size() <= 0) continue;
    const std::int32_t source = rows.source(row, rows.offset(row));
    if (!is_state_block(source)) continue;
    std::ranges::copy(pool.block(source), state.begin());
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      step(std::span<float>(state), tokens.first + t);
      // A destination that is no block drops the write; the recurrence goes on.
      const std::int32_t destination = rows.destination(row, t);
      if (is_state_block(destination)) std::ranges::copy(state, pool.block(destination).begin());
    }
  }
}

// The state of a prompt row while its tokens run.
class RunningState {
 public:
  explicit RunningState(const StatePool& pool)
      : pool_(pool), values_(static_cast<std::size_t>(pool.block_elements)) {}

  // The row's initial state; zeros, if it has none or `reads_states` is false.
  void begin(const PrefillRows& rows, std::int32_t row, bool reads_states) {
    if (reads_states && rows.has_initial_state(row))
      std::ranges::copy(pool_.block(rows.source(row)), values_.begin());
    else
      std::ranges::fill(values_, 0.0F);
  }
  void store(std::int32_t block) const {
    if (is_state_block(block)) std::ranges::copy(values_, pool_.block(block).begin());
  }
  std::span<float> values() { return values_; }

 private:
  const StatePool& pool_;
  std::vector<float> values_;  // [block_elements]
};

// Runs prompt rows. `reads_states` false: no row reads an initial state. A row without tokens
// writes its initial state back, or zeros; in mode all it writes nothing.
template <class Step>
void run_prefill_rows(const PrefillRows& rows, const StatePool& pool, bool reads_states,
                      Step&& step) {
  RunningState state(pool);
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens tokens = rows.tokens(row);
    if (tokens.size() <= 0 && rows.is_mode_all()) continue;
    state.begin(rows, row, reads_states);
    const std::vector<BoundaryState> boundaries = boundary_states(rows, row);
    auto boundary = boundaries.begin();
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      step(state.values(), tokens.first + t);
      for (; boundary != boundaries.end() && boundary->num_tokens == t + 1; ++boundary)
        state.store(boundary->block);
    }
    state.store(rows.destination(row));
  }
}

}  // namespace hybridscope
