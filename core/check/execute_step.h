// Executes a step on symbolic state: what the kernels of each row read and write (execute_rows,
// execute_mamba, execute_attention), and the copies around them (execute_copies).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/check/check_context.h"
#include "core/check/symbolic_state.h"

namespace hybridscope {

// What the layer kernels of one row do to recurrent state, on fingerprints
// (semantics: decode-temporal, decode-conv, prefill-temporal, prefill-conv). Every read is checked
// against the row's truth before it is used.

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

// The forward of one step on symbolic state: reads the metadata of every KV-cache group as the
// layer kernels would and runs each row (docs/semantics/forward.md).

// Recurrent layers of one group. Requires check_metadata_shapes.
void execute_mamba_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Reports each row of a dummy run that is not a null row, and folds a placeholder into the state of
// the block that it names.
void execute_dummy_rows(CheckContext& context);

// Keys and values of one attention group: every token of a row goes to the slot of its position, in
// blocks that are filled without gaps, after slots that hold the row's prefix.
void execute_attention_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Checks that every column that attention reads in this step, not only the last one, is filled to
// its end.
void check_attention_reads(CheckContext& context, const RowTruth& truth, const GroupTrace& group);

// Conv windows as kernels with a known fault leave them (core/trace/step_trace.h: KernelVariants).

using ConvWindow = std::array<Fingerprint, kMaxConvKernel>;  // its first W - 1 tokens, oldest first

// KernelVariants::stores_boundaries_by_piece: what the window at boundary `index` of the row takes
// for the history. Empty: it is not stored.
std::optional<ConvWindow> history_by_piece(const RowTruth& truth, std::int32_t row,
                                           std::size_t index, std::int32_t conv_kernel);

// KernelVariants::rolls_conv_by_window: the window rolls by 1 + K tokens although the row has
// fewer; the positions left at its end stay as they were.
void roll_by_window(const RowTruth& truth, const DecodeRow& row, const CheckConfig& config,
                    const ConvWindow& prior, std::span<Fingerprint> conv);

// Known bug 25: does the row's conv window reach past the end of its block's, into the temporal
// state behind it?
bool window_spills(const CheckConfig& config, const DecodeRow& row);

// One launch of state copies on symbolic state: every source is read before anything is written, as
// copies of a launch have no order (semantics: collect-mamba-copy-meta, do-mamba-copy-block, I13).

class CopyExecutor {
 public:
  explicit CopyExecutor(const CheckConfig& config);

  // `kind` pre_copy or post_copy. Reports sources that were never written or that the request does
  // not hold, shifts that leave the conv window, writes to foreign blocks, and copies of the launch
  // that conflict. Requires: every copy refers to a decision (check_copies).
  void execute(CheckContext& context, const CopyLaunch& launch, WriteKind kind);

 private:
  struct Source {
    TemporalSlot temporal;
    WriteEvent conv_event;
  };
  void report_conflicts(CheckContext& context, const CopyLaunch& launch);
  void read_sources(CheckContext& context, const CopyLaunch& launch);

  std::vector<Source> sources_;           // [copies]
  std::vector<Fingerprint> windows_;      // [copies, conv_state_len]
  std::vector<std::int32_t> written_by_;  // [num_blocks] copy + 1 of this launch, 0: none
};

// Copies of whole blocks, which a step makes before anything else touches state (semantics:
// copy-on-write).

// Carries out the copies of the step's cache events, in their order. Reports a source that nobody
// wrote, and a destination that belongs to another request.
void execute_block_copies(CheckContext& context);

}  // namespace hybridscope
