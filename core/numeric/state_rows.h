// Which block of a state pool each row of a batch reads and writes, as the arrays of the metadata
// builders say (numerics: arrays). Nothing here knows a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/tensor_view.h"

namespace hybridscope {

// The blocks of one state of one layer, float32. Block 0 is the null block; ids below are padding.
struct StatePool {
  std::span<float> data;  // [num_blocks, block_elements]
  std::int64_t block_elements = 0;

  std::int32_t num_blocks() const {
    return static_cast<std::int32_t>(static_cast<std::int64_t>(data.size()) / block_elements);
  }
  // Requires: 0 <= id < num_blocks().
  std::span<float> block(std::int32_t id) const {
    return data.subspan(static_cast<std::size_t>(id * block_elements),
                        static_cast<std::size_t>(block_elements));
  }
};

// Is it a block that a row may read or write?
constexpr bool is_state_block(std::int32_t id) { return id > 0; }

// Tokens [first, last) of the batch.
struct BatchTokens {
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::int32_t size() const { return last - first; }
};

// Decode and verify rows. Arrays that a mode does not have are empty.
struct DecodeRows {
  TensorView<std::int32_t> state_indices;               // [rows, columns] block ids
  std::span<const std::int32_t> query_start_loc{};      // [rows + 1]; empty: token r is row r's
  std::span<const std::int32_t> num_accepted_tokens{};  // [rows] 1 + accepted drafts
  // Mode all: [rows] the base columns; empty: column 0.
  std::span<const std::int32_t> source_column{};
  std::span<const std::int32_t> destination_column{};

  std::int32_t num_rows() const { return state_indices.rows; }
  BatchTokens tokens(std::int32_t row) const;
  // The accepted tokens of the row's last step, less the one that is always there: 0 without
  // counts.
  std::int32_t offset(std::int32_t row) const;
  // The block of the base source column, and of the one that `offset` columns further holds what
  // the row continues.
  std::int32_t source(std::int32_t row, std::int32_t offset) const;
  // Where the state after the row's query token t goes; 0: nowhere.
  std::int32_t destination(std::int32_t row, std::int32_t t) const;

 private:
  std::int32_t at(std::int32_t row, std::int32_t column) const;
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

  std::int32_t num_rows() const { return static_cast<std::int32_t>(has_initial_states.size()); }
  bool is_mode_all() const { return mamba_block_size > 0; }
  BatchTokens tokens(std::int32_t row) const;
  // Of the state that the row continues; nothing of it may be read without an initial state.
  std::int32_t source(std::int32_t row) const;
  // Of the state after the row's last token; 0: nowhere.
  std::int32_t destination(std::int32_t row) const;
};

// Mode all: the state after `num_tokens` tokens of the row goes to `block` too.
struct BoundaryState {
  std::int32_t num_tokens = 0;
  std::int32_t block = 0;
};
// Of one row in ascending order; empty in other modes.
std::vector<BoundaryState> boundary_states(const PrefillRows& rows, std::int32_t row);

}  // namespace hybridscope
