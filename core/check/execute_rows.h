// What the layer kernels of one row do to recurrent state, on fingerprints
// (semantics: decode-temporal, decode-conv, prefill-temporal, prefill-conv). Every read is checked
// against the row's truth before it is used.
#pragma once

#include <cstdint>
#include <span>

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

// A row as the metadata describes it; block ids are physical.
struct DecodeRow {
  std::int32_t row = -1;  // in the batch
  std::int32_t group = -1;
  std::int32_t num_query_tokens = 0;
  bool counts_given = false;             // accepted counts were passed to the builder
  std::int32_t num_accepted_tokens = 1;  // a
  std::int32_t temporal_src_block = 0;
  std::int32_t temporal_src_column = -1;  // of the request's block table
  std::int32_t conv_src_block = 0;
  std::int32_t conv_src_column = -1;
  std::span<const std::int32_t> dst_blocks{};  // after token t the state goes to dst_blocks[t]
  std::int32_t first_dst_column = -1;          // of the request's block table
};

struct PrefillRow {
  std::int32_t row = -1;
  std::int32_t group = -1;
  std::int32_t num_query_tokens = 0;
  bool has_initial_state = false;
  std::int32_t src_block = 0;
  std::int32_t src_column = -1;  // of the request's block table
  std::int32_t dst_block = 0;
  std::int32_t dst_column = -1;
  // Mode all: boundary states S(boundary_block_size * (first_boundary_column + 1 + i)) go to
  // boundary_blocks[i].
  std::span<const std::int32_t> boundary_blocks{};
  std::int32_t first_boundary_column = 0;
  std::int32_t boundary_block_size = 0;
  // [boundary_blocks] tokens of the row that each of these states holds, -1: it is of another row's
  // chunk; empty: those up to its boundary.
  std::span<const std::int32_t> boundary_tokens{};
  // The state after checkpoint_tokens of the row's tokens goes to checkpoint_block; 0: none.
  std::int32_t checkpoint_tokens = 0;
  std::int32_t checkpoint_block = 0;
  std::int32_t checkpoint_column = -1;  // of the request's block table
};

void execute_decode_row(CheckContext& context, const RowTruth& truth, const DecodeRow& row);
void execute_prefill_row(CheckContext& context, const RowTruth& truth, const PrefillRow& row);

// A padding row that was not made null: its placeholder token is folded into the block it names.
void execute_unneutral_padding_row(CheckContext& context, std::int32_t group, std::int32_t block);

}  // namespace hybridscope
