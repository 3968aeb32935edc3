// What one step does to recurrent state, as values: the checker makes them out of the decisions and
// metadata it executes, a StateBackend carries them out on bytes (semantics: bytes-state). Plain
// arrays, so that they go to a device as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/base/fingerprint.h"
#include "core/base/math.h"

namespace hybridscope {

// What a conv position or a state holds if it was never written since the block was given out. In
// memory the pattern repeats, so that a shift by whole elements leaves it the same.
inline constexpr Fingerprint kPoison = 0xDEADDEADDEADDEADULL;
// A conv position before the first token; in memory: zeros.
inline constexpr Fingerprint kBeforeFirstToken = 0;

// Sources that are not blocks.
inline constexpr std::int32_t kNoSource = -1;  // temporal: `start`; conv: before the first token
inline constexpr std::int32_t kPoisonSource = -2;  // the source cannot be read

// One decided copy, in every layer of a group (semantics: collect-mamba-copy-meta): conv positions
// accept_token_bias.. of conv_src_block to positions 0.. of dst_block, the temporal state of
// temporal_src_block whole.
struct StateCopyOp {
  std::int32_t group_index = 0;         // into the mamba groups
  std::int32_t conv_src_block = 0;      // or kPoisonSource
  std::int32_t temporal_src_block = 0;  // or kPoisonSource
  std::int32_t dst_block = 0;
  std::int32_t accept_token_bias = 0;
  friend bool operator==(const StateCopyOp&, const StateCopyOp&) = default;
};

enum class ForwardWriteKind : std::int32_t {
  temporal,     // the state after the row's first num_tokens tokens
  conv_tail,    // positions [0, W-1): the last W-1 tokens up to the row's token num_tokens
  conv_window,  // positions [0, W-2): prior tokens 1..; from W-2 on: the row's num_tokens tokens
};

struct ForwardWrite {
  ForwardWriteKind kind = ForwardWriteKind::temporal;
  std::int32_t block = 0;
  std::int32_t num_tokens = 0;
  friend bool operator==(const ForwardWrite&, const ForwardWrite&) = default;
};

// One row of a layer kernel: everything is read before anything is written, and its writes of one
// kind go to different blocks, so that they have no order. The prior tokens are
// conv positions [conv_src_position, conv_src_position + W-1) of conv_src_block; positions past the
// window's end read as poison.
struct ForwardRow {
  std::int32_t group_index = 0;
  std::int32_t temporal_src_block = kNoSource;
  std::int32_t conv_src_block = kNoSource;
  std::int32_t conv_src_position = 0;
  std::int32_t first_token = 0;  // into tokens
  std::int32_t num_tokens = 0;
  std::int32_t first_write = 0;  // into writes
  std::int32_t num_writes = 0;
  Fingerprint start = 0;  // the initial state where temporal_src_block is not a block
  friend bool operator==(const ForwardRow&, const ForwardRow&) = default;
};

enum class StateOpKind : std::uint8_t { poison, copy, forward };

// Consecutive operations of one kind; of copies: one launch, whose sources are all read before
// anything is written (semantics: I13).
struct StateOpBatch {
  StateOpKind kind = StateOpKind::poison;
  std::int32_t first = 0;
  std::int32_t count = 0;
  friend bool operator==(const StateOpBatch&, const StateOpBatch&) = default;
};

struct StateOps {
  std::vector<StateOpBatch> batches;   // in order
  std::size_t num_before_forward = 0;  // batches before the layers run
  std::vector<std::int32_t> poisoned;  // blocks given to a new owner
  std::vector<StateCopyOp> copies;
  std::vector<ForwardRow> rows;      // in order
  std::vector<ForwardWrite> writes;  // by row
  // What a state folds: the tokens of the batch, which the rows of all groups share; then those of
  // padding rows.
  std::vector<TokenContent> tokens;
  std::vector<Fingerprint> token_fingerprints;  // [tokens] what a conv position keeps of each

  void clear();
  // Both add to the last batch if it is of their kind, else to a new one.
  void add_poison(std::int32_t block);
  void add_row(const ForwardRow& row);
  // Copies added from here on are another launch.
  void begin_launch();
  void add_copy(const StateCopyOp& copy);

  // Calls poison(blocks), copy(copies) or forward(rows) for each of the batches [first, end).
  template <class Poison, class Copy, class Forward>
  void visit_batches(std::size_t first, std::size_t end, const Poison& poison, const Copy& copy,
                     const Forward& forward) const {
    for (const StateOpBatch& batch : std::span(batches).subspan(first, end - first)) {
      const auto part = [&](const auto& all) {
        return std::span(all).subspan(static_cast<std::size_t>(batch.first),
                                      static_cast<std::size_t>(batch.count));
      };
      switch (batch.kind) {
        case StateOpKind::poison: poison(part(poisoned)); break;
        case StateOpKind::copy: copy(part(copies)); break;
        case StateOpKind::forward: forward(part(rows)); break;
      }
    }
  }
};

static_assert(std::is_trivially_copyable_v<StateCopyOp>);
static_assert(std::is_trivially_copyable_v<ForwardWrite>);
static_assert(std::is_trivially_copyable_v<ForwardRow>);

// The 'trace' state model: elements from which the content of a state can be read back
// (semantics: trace-element). One body for the host and for kernels.

// Element `i` of a state, or of one conv position along dim, whose content is `fingerprint`, as an
// unsigned number of elem_size bytes (2, 4): the first 8 bytes are the fingerprint itself, little
// endian, the others mix(fingerprint, i) cut to the element. Poison is the kPoison pattern
// throughout; a position before the first token is zero.
HS_HOST_DEVICE constexpr std::uint64_t trace_element(Fingerprint fingerprint, std::int64_t i,
                                                     std::int32_t elem_size) {
  const int bits = 8 * elem_size;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  if (fingerprint == kPoison || fingerprint == kBeforeFirstToken) return fingerprint & mask;
  if (i * elem_size < 8) return (fingerprint >> (bits * i)) & mask;
  return mix(fingerprint, static_cast<std::uint64_t>(i)) & mask;
}

}  // namespace hybridscope
