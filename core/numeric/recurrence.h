// How a recurrent state moves from block to block while a batch's rows run, for every kind of layer
// whose state is folded token by token (numerics: arrays, form recurrent).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/numeric/state_rows.h"

namespace hybridscope {

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

// Runs prompt rows. `reads_states` false: no row reads an initial state. A row without tokens
// writes its initial state back, or zeros; in mode all it writes nothing.
template <class Step>
void run_prefill_rows(const PrefillRows& rows, const StatePool& pool, bool reads_states,
                      Step&& step) {
  std::vector<float> state(static_cast<std::size_t>(pool.block_elements));
  const auto store = [&](std::int32_t block) {
    if (is_state_block(block)) std::ranges::copy(state, pool.block(block).begin());
  };
  for (std::int32_t row = 0; row < rows.num_rows(); ++row) {
    const BatchTokens tokens = rows.tokens(row);
    if (tokens.size() <= 0 && rows.is_mode_all()) continue;
    const bool reads = reads_states && rows.has_initial_state(row);
    if (reads)
      std::ranges::copy(pool.block(rows.source(row)), state.begin());
    else
      std::ranges::fill(state, 0.0F);
    const std::vector<BoundaryState> boundaries = boundary_states(rows, row);
    auto boundary = boundaries.begin();
    for (std::int32_t t = 0; t < tokens.size(); ++t) {
      step(std::span<float>(state), tokens.first + t);
      for (; boundary != boundaries.end() && boundary->num_tokens == t + 1; ++boundary)
        store(boundary->block);
    }
    store(rows.destination(row));
  }
}

}  // namespace hybridscope
