#include <algorithm>

#include "core/base/math.h"
#include "core/check/execute_forward.h"
#include "core/check/execute_rows.h"

namespace hybridscope {
namespace {

std::int32_t num_real_rows(const CheckContext& context) {
  return static_cast<std::int32_t>(context.trace().rows.size());
}

// Column of the request's block table that window column 0 of a row is.
std::int32_t window_start(const CheckContext& context, const RowTruth& truth,
                          const GroupTrace& group, std::int32_t row) {
  if (context.config().mamba_cache_mode == MambaCacheMode::none) return 0;
  const std::int32_t seq_len = truth.num_computed_tokens(row) + truth.num_query_tokens(row);
  return std::max(seq_len - 1, 0) / group.block_size;
}

void check_padding_row(CheckContext& context, const GroupTrace& group, std::int32_t row,
                       std::int32_t block, bool runs) {
  const bool runs_on_null = runs && context.trace().kernels.runs_null_rows;
  if (block == kPadSlotId || (block == kNullBlock && !runs_on_null)) return;
  Finding finding;
  finding.rule = Rule::padded_row_not_null;
  finding.row = row;
  finding.group = group.group;
  finding.block = block;
  finding.detail = block == kNullBlock ? "the padding row runs on the null block"
                                       : "state index of a padding row";
  context.report(finding);
  if (runs) execute_unneutral_padding_row(context, group.group, block);
}

// A row whose window column 0 is null or the pad id is skipped whole (semantics: null-rows).
bool skipped_whole(CheckContext& context, const GroupTrace& group, std::int32_t row,
                   std::int32_t block) {
  if (block != kNullBlock && block != kPadSlotId) return false;
  Finding finding;
  finding.rule = Rule::foreign_write;
  finding.request = context.trace().rows[static_cast<std::size_t>(row)].request;
  finding.row = row;
  finding.group = group.group;
  finding.content = ContentKind::temporal;
  finding.block = block;
  finding.detail = "the row's first state index is null: its state is not advanced";
  context.report(finding);
  return true;
}

// Window columns that the row neither reads nor writes in this step name the request's blocks too.
void check_idle_columns(CheckContext& context, const GroupTrace& group, std::int32_t row,
                        std::span<const std::int32_t> window, const DecodeRow& decode) {
  const RequestId request = context.trace().rows[static_cast<std::size_t>(row)].request;
  for (auto i = static_cast<std::size_t>(decode.num_query_tokens); i < window.size(); ++i) {
    const std::int32_t column = decode.first_dst_column + static_cast<std::int32_t>(i);
    const std::int32_t expected = context.tables().block_at(request, group.group, column);
    if (column == decode.temporal_src_column || window[i] == expected) continue;
    Finding finding;
    finding.rule = Rule::foreign_row_datum;
    finding.request = request;
    finding.row = row;
    finding.group = group.group;
    finding.column = column;
    finding.block = window[i];
    finding.expected = expected;
    finding.seen = window[i];
    finding.detail = "a state index is not the request's block";
    context.report(finding);
  }
}

struct WindowRows {
  const TensorView<std::int32_t>* state_indices = nullptr;  // [rows, columns]
  TensorView<std::int32_t> num_accepted_tokens;
  TensorView<std::int32_t> query_start_loc;  // absent: one token a row
};

// Modes none and align: a row's window is its row of the state indices.
void run_window_row(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                    const WindowRows& rows, std::int32_t index, std::int32_t batch_row) {
  const TensorView<std::int32_t>& indices = *rows.state_indices;
  const std::span<const std::int32_t> window(
      indices.data + static_cast<std::int64_t>(index) * indices.cols,
      static_cast<std::size_t>(indices.cols));
  const std::int32_t num_tokens =
      rows.query_start_loc.present
          ? rows.query_start_loc.at(index + 1) - rows.query_start_loc.at(index)
          : 1;
  if (batch_row < 0 || batch_row >= num_real_rows(context)) {
    check_padding_row(context, group, index, window[0], num_tokens > 0);
    return;
  }
  if (num_tokens <= 0 || skipped_whole(context, group, batch_row, window[0])) return;
  const bool counts = rows.num_accepted_tokens.present && group.accepted_counts_given;
  const std::int32_t accepted = counts ? rows.num_accepted_tokens.at(index) : 1;
  const bool in_range = accepted >= 1 && accepted <= indices.cols;
  const std::int32_t first_column = window_start(context, truth, group, batch_row);
  const DecodeRow decode{
      .row = batch_row,
      .group = group.group,
      .num_query_tokens = std::min(num_tokens, truth.num_query_tokens(batch_row)),
      .counts_given = counts,
      .num_accepted_tokens = in_range ? accepted : 1,
      .temporal_src_block = in_range ? window[static_cast<std::size_t>(accepted - 1)] : kPadSlotId,
      .temporal_src_column = first_column + accepted - 1,
      .conv_src_block = window[0],
      .conv_src_column = first_column,
      .dst_blocks = window,
      .first_dst_column = first_column};
  check_idle_columns(context, group, batch_row, window, decode);
  execute_decode_row(context, truth, decode);
}

void run_prefill_row(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                     std::int32_t batch_row, std::int32_t block, bool has_initial_state) {
  if (batch_row >= num_real_rows(context)) {
    check_padding_row(context, group, batch_row, block, false);
    return;
  }
  if (skipped_whole(context, group, batch_row, block)) return;
  const std::int32_t column = window_start(context, truth, group, batch_row);
  execute_prefill_row(context, truth,
                      {.row = batch_row,
                       .group = group.group,
                       .num_query_tokens = truth.num_query_tokens(batch_row),
                       .has_initial_state = has_initial_state,
                       .src_block = block,
                       .src_column = column,
                       .dst_block = block,
                       .dst_column = column});
}

// Mode all: every block has its own column.
class AllModeColumns {
 public:
  AllModeColumns(const TensorView<std::int32_t>& table, std::int32_t row)
      : columns_(table.data + std::int64_t{row} * table.cols), count_(table.cols) {}
  // The pad id outside the table.
  std::int32_t at(std::int32_t column) const {
    return column >= 0 && column < count_ ? columns_[column] : kPadSlotId;
  }
  // Columns [first, first + width), as far as they are there.
  std::span<const std::int32_t> window(std::int32_t first, std::int32_t width) const {
    if (first < 0 || first >= count_ || width <= 0) return {};
    return {columns_ + first, static_cast<std::size_t>(std::min(width, count_ - first))};
  }

 private:
  const std::int32_t* columns_;
  std::int32_t count_;
};

void run_all_mode_decode(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                         const MambaMetadata& metadata, std::int32_t row) {
  const AllModeColumns columns(metadata.state_indices_tensor_d, row);
  const std::int32_t target = metadata.block_idx_last_scheduled_token.at(row);
  if (row >= num_real_rows(context)) {
    check_padding_row(context, group, row, columns.at(target), !metadata.query_start_loc_d.present);
    return;
  }
  const bool counts = metadata.num_accepted_tokens.present && group.accepted_counts_given;
  const std::int32_t accepted = counts ? metadata.num_accepted_tokens.at(row) : 1;
  const std::int32_t computed_column = metadata.block_idx_last_computed_token.at(row);
  const std::int32_t temporal_column =
      (group.temporal_source_column.present ? group.temporal_source_column.at(row)
                                            : computed_column) +
      accepted - 1;
  const std::int32_t conv_column =
      group.conv_source_column.present ? group.conv_source_column.at(row) : computed_column;
  if (skipped_whole(context, group, row, columns.at(target))) return;
  const std::int32_t num_tokens = truth.num_query_tokens(row);
  if (num_tokens == 0) return;
  execute_decode_row(context, truth,
                     {.row = row,
                      .group = group.group,
                      .num_query_tokens = num_tokens,
                      .counts_given = counts,
                      .num_accepted_tokens = std::max(accepted, 1),
                      .temporal_src_block = columns.at(temporal_column),
                      .temporal_src_column = temporal_column,
                      .conv_src_block = columns.at(conv_column),
                      .conv_src_column = conv_column,
                      .dst_blocks = columns.window(target, num_tokens),
                      .first_dst_column = target});
}

void run_all_mode_prefill(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                          const MambaMetadata& metadata, std::int32_t index) {
  const std::int32_t row = metadata.num_decodes + index;
  if (row >= num_real_rows(context)) return;
  const AllModeColumns columns(metadata.state_indices_tensor_p, index);
  const std::int32_t first = metadata.block_idx_first_scheduled_token_p.at(index);
  const std::int32_t last = metadata.block_idx_last_scheduled_token.at(row);
  const std::int32_t computed_column = metadata.block_idx_last_computed_token.at(row);
  if (skipped_whole(context, group, row, columns.at(last))) return;
  execute_prefill_row(context, truth,
                      {.row = row,
                       .group = group.group,
                       .num_query_tokens = truth.num_query_tokens(row),
                       .has_initial_state = metadata.has_initial_states_p.at(index) != 0,
                       .src_block = columns.at(computed_column),
                       .src_column = computed_column,
                       .dst_block = columns.at(last),
                       .dst_column = last,
                       .boundary_blocks = columns.window(first, last - first),
                       .first_boundary_column = first,
                       .boundary_block_size = group.block_size});
}

void execute_mamba(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                   const MambaMetadata& metadata) {
  const bool all = context.config().mamba_cache_mode == MambaCacheMode::all;
  const WindowRows rows{&metadata.state_indices_tensor_d, metadata.num_accepted_tokens,
                        metadata.query_start_loc_d};
  for (std::int32_t row = 0; row < metadata.num_decodes; ++row) {
    if (all)
      run_all_mode_decode(context, truth, group, metadata, row);
    else
      run_window_row(context, truth, group, rows, row, row);
  }
  for (std::int32_t i = 0; i < metadata.num_prefills; ++i) {
    if (all)
      run_all_mode_prefill(context, truth, group, metadata, i);
    else
      run_prefill_row(context, truth, group, metadata.num_decodes + i,
                      metadata.state_indices_tensor_p.at(i),
                      metadata.has_initial_states_p.at(i) != 0);
  }
}

// Batch row of the n-th spec or non-spec row: the masks tell in a mixed batch; a pure batch keeps
// its order, padding rows at the back.
class GdnRows {
 public:
  explicit GdnRows(const GdnMetadata& metadata)
      : masks_(metadata.spec_sequence_masks), mixed_(metadata.num_prefills > 0) {}
  std::int32_t next(bool spec) {
    std::int32_t& row = spec ? next_spec_ : next_non_spec_;
    if (mixed_ && masks_.present)
      while (row < masks_.rows && (masks_.at(row) != 0) != spec) ++row;
    return row++;
  }

 private:
  TensorView<std::uint8_t> masks_;
  bool mixed_;
  std::int32_t next_spec_ = 0;
  std::int32_t next_non_spec_ = 0;
};

// Does the i-th spec row take its gates from the tokens of its own row? In a mixed batch the tokens
// are gathered; gates that are not stand where they stand in the batch.
void check_gates(CheckContext& context, const GroupTrace& group, const GdnMetadata& metadata,
                 std::int32_t index, std::int32_t row) {
  if (!context.trace().kernels.gates_in_batch_order || metadata.num_prefills == 0) return;
  if (row < 0 || row >= num_real_rows(context)) return;
  const std::int32_t gate = metadata.spec_query_start_loc.at(index);
  const std::int32_t token = context.trace().common.query_start_loc[static_cast<std::size_t>(row)];
  if (gate == token) return;
  Finding finding;
  finding.rule = Rule::foreign_row_datum;
  finding.request = context.trace().rows[static_cast<std::size_t>(row)].request;
  finding.row = row;
  finding.group = group.group;
  finding.expected = token;
  finding.seen = gate;
  finding.detail = "gates of other tokens";
  context.report(finding);
}

void execute_gdn(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                 const GdnMetadata& metadata) {
  GdnRows batch(metadata);
  if (metadata.num_spec_decodes > 0) {
    const WindowRows rows{&metadata.spec_state_indices_tensor, metadata.num_accepted_tokens,
                          metadata.spec_query_start_loc};
    const std::int32_t count = metadata.num_prefills > 0 ? metadata.num_spec_decodes
                                                         : metadata.spec_state_indices_tensor.rows;
    for (std::int32_t i = 0; i < count; ++i) {
      const bool real = i < metadata.num_spec_decodes;
      const std::int32_t row = real ? batch.next(true) : -1;
      if (real) check_gates(context, group, metadata, i, row);
      run_window_row(context, truth, group, rows, i, row);
    }
  }
  if (!metadata.non_spec_state_indices_tensor.present) return;
  const TensorView<std::int32_t>& blocks = metadata.non_spec_state_indices_tensor;
  const WindowRows rows{&blocks, {}, metadata.non_spec_query_start_loc};
  for (std::int32_t i = 0; i < blocks.rows; ++i) {
    const std::int32_t row = batch.next(false);
    if (metadata.num_prefills > 0)
      run_prefill_row(context, truth, group, row, blocks.at(i),
                      metadata.has_initial_state.at(i) != 0);
    else
      run_window_row(context, truth, group, rows, i, row);
  }
}

}  // namespace

void execute_mamba_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group) {
  if (const auto* mamba = std::get_if<MambaMetadata>(&*group.metadata))
    execute_mamba(context, truth, group, *mamba);
  else if (const auto* mamba2 = std::get_if<Mamba2Metadata>(&*group.metadata))
    execute_mamba(context, truth, group, mamba2->base);
  else if (const auto* gdn = std::get_if<GdnMetadata>(&*group.metadata))
    execute_gdn(context, truth, group, *gdn);
}

}  // namespace hybridscope
