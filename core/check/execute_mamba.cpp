#include <algorithm>

#include "core/base/math.h"
#include "core/check/execute_step.h"

namespace hybridscope {
namespace {

// The column of the request's block table that is window column 0 of a row.
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
  context.report({.rule = Rule::padded_row_not_null,
                  .row = row,
                  .group = group.group,
                  .block = block,
                  .detail = block == kNullBlock ? "the padding row runs on the null block"
                                                : "state index of a padding row"});
  if (runs) execute_unneutral_padding_row(context, group.group, block);
}

// A row whose window column 0 is null or the pad id is skipped whole (semantics: null-rows).
bool skipped_whole(CheckContext& context, const GroupTrace& group, std::int32_t row,
                   std::int32_t block) {
  if (block != kNullBlock && block != kPadSlotId) return false;
  context.report({.rule = Rule::foreign_write,
                  .request = context.trace().rows[static_cast<std::size_t>(row)].request,
                  .row = row,
                  .group = group.group,
                  .content = ContentKind::temporal,
                  .block = block,
                  .detail = "the row's first state index is null: its state is not advanced"});
  return true;
}

// Window columns that the row neither reads nor writes in this step must name the request's blocks
// too.
void check_idle_columns(CheckContext& context, const GroupTrace& group, std::int32_t row,
                        std::span<const std::int32_t> window, const DecodeRow& decode) {
  const RequestId request = context.trace().rows[static_cast<std::size_t>(row)].request;
  for (auto i = static_cast<std::size_t>(decode.num_query_tokens); i < window.size(); ++i) {
    const std::int32_t column = decode.first_dst_column + static_cast<std::int32_t>(i);
    const std::int32_t expected = context.tables().block_at(request, group.group, column);
    if (column == decode.temporal_src_column || window[i] == expected) continue;
    context.report({.rule = Rule::foreign_row_datum,
                    .request = request,
                    .row = row,
                    .group = group.group,
                    .column = column,
                    .block = window[i],
                    .expected = expected,
                    .seen = window[i],
                    .detail = "a state index is not the request's block"});
  }
}

// A decode row of modes none and align, whose window begins at its running column.
void run_window_row(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                    const StateAccess& access) {
  const std::span<const std::int32_t> window = access.blocks;
  if (access.num_query_tokens <= 0 || skipped_whole(context, group, access.row, window[0])) return;
  const bool counts = access.counts_given && group.accepted_counts_given;
  const std::int32_t accepted = counts ? access.num_accepted_tokens : 1;
  const bool in_range = accepted >= 1 && accepted <= static_cast<std::int32_t>(window.size());
  const std::int32_t first_column = window_start(context, truth, group, access.row);
  const DecodeRow decode{
      .row = access.row,
      .group = group.group,
      .num_query_tokens = std::min(access.num_query_tokens, truth.num_query_tokens(access.row)),
      .counts_given = counts,
      .num_accepted_tokens = in_range ? accepted : 1,
      .temporal_src_block = in_range ? window[static_cast<std::size_t>(accepted - 1)] : kPadSlotId,
      .temporal_src_column = first_column + accepted - 1,
      .conv_src_block = window[0],
      .conv_src_column = first_column,
      .dst_blocks = window,
      .first_dst_column = first_column};
  check_idle_columns(context, group, access.row, window, decode);
  execute_decode_row(context, truth, decode);
}

void run_window_prefill(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                        const StateAccess& access) {
  const std::int32_t block = access.blocks[0];
  if (skipped_whole(context, group, access.row, block)) return;
  const std::int32_t column = window_start(context, truth, group, access.row);
  // A chunk stores a state in the column before its last one (semantics: checkpoint-metadata).
  execute_prefill_row(context, truth,
                      {.row = access.row,
                       .group = group.group,
                       .num_query_tokens = truth.num_query_tokens(access.row),
                       .has_initial_state = access.has_initial_state,
                       .src_block = block,
                       .src_column = column,
                       .dst_block = block,
                       .dst_column = column,
                       .checkpoint_tokens = access.checkpoint_tokens,
                       .checkpoint_block = access.checkpoint_block,
                       .checkpoint_column = column - 1});
}

// Blocks of columns [first, first + width), as far as they exist.
std::span<const std::int32_t> columns_from(std::span<const std::int32_t> blocks, std::int32_t first,
                                           std::int32_t width) {
  const auto count = static_cast<std::int32_t>(blocks.size());
  if (first < 0 || first >= count || width <= 0) return {};
  return blocks.subspan(static_cast<std::size_t>(first),
                        static_cast<std::size_t>(std::min(width, count - first)));
}

// A decode row of mode all: every block has its own column.
void run_all_mode_decode(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                         const StateAccess& access) {
  const std::int32_t target = access.last_scheduled_column;
  const bool counts = access.counts_given && group.accepted_counts_given;
  const std::int32_t accepted = counts ? access.num_accepted_tokens : 1;
  const std::int32_t temporal_column = access.temporal_source_column + accepted - 1;
  if (skipped_whole(context, group, access.row, access.block_at(target))) return;
  const std::int32_t num_tokens = truth.num_query_tokens(access.row);
  if (num_tokens == 0) return;
  execute_decode_row(context, truth,
                     {.row = access.row,
                      .group = group.group,
                      .num_query_tokens = num_tokens,
                      .counts_given = counts,
                      .num_accepted_tokens = std::max(accepted, 1),
                      .temporal_src_block = access.block_at(temporal_column),
                      .temporal_src_column = temporal_column,
                      .conv_src_block = access.block_at(access.conv_source_column),
                      .conv_src_column = access.conv_source_column,
                      .dst_blocks = columns_from(access.blocks, target, num_tokens),
                      .first_dst_column = target});
}

void run_all_mode_prefill(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                          const StateAccess& access) {
  const std::int32_t first = access.first_scheduled_column;
  const std::int32_t last = access.last_scheduled_column;
  if (skipped_whole(context, group, access.row, access.block_at(last))) return;
  const auto boundary_blocks = columns_from(access.blocks, first, last - first);
  std::vector<std::int32_t>& tokens = context.shared().metadata.boundary_tokens;
  tokens.clear();
  if (access.boundary_chunks.stride > 0)
    for (std::size_t i = 0; i < boundary_blocks.size(); ++i)
      tokens.push_back(access.boundary_chunks.tokens_at(static_cast<std::int32_t>(i)));
  execute_prefill_row(context, truth,
                      {.row = access.row,
                       .group = group.group,
                       .num_query_tokens = truth.num_query_tokens(access.row),
                       .has_initial_state = access.has_initial_state,
                       .src_block = access.block_at(access.computed_column),
                       .src_column = access.computed_column,
                       .dst_block = access.block_at(last),
                       .dst_column = last,
                       .boundary_blocks = boundary_blocks,
                       .first_boundary_column = first,
                       .boundary_block_size = group.block_size,
                       .boundary_tokens = tokens});
}

// Prefill rows of mode all past the batch are skipped: check_group_metadata reports them.
void run_padding_row(CheckContext& context, const GroupTrace& group, const StateAccess& access) {
  if (access.by_column && !access.is_decode) return;
  const std::int32_t block =
      access.by_column ? access.block_at(access.last_scheduled_column) : access.blocks[0];
  check_padding_row(context, group, access.index, block, access.runs_as_padding);
}

// Does a row whose tokens are gathered take its gates from its own tokens? Gates that are not
// gathered stay in batch order.
void check_gates(CheckContext& context, const GroupTrace& group, const StateAccess& access) {
  if (!context.trace().kernels.gates_in_batch_order || access.first_gathered_token < 0) return;
  const auto row = static_cast<std::size_t>(access.row);
  const std::int32_t token = context.trace().common.query_start_loc[row];
  if (access.first_gathered_token == token) return;
  report(context, Rule::foreign_row_datum,
         {token, access.first_gathered_token, "gates of other tokens", access.row, group.group});
}

// KDA's gates of a verify row: with the wrong stride every token but the first gets other ones.
void check_kda_gates(CheckContext& context, const GroupTrace& group, const StateAccess& access) {
  if (!context.trace().kernels.steps_kda_gates_by_head || !access.is_decode) return;
  const auto row = static_cast<std::size_t>(access.row);
  const auto* spec = std::get_if<MambaSpec>(
      &context.config().kv_cache_config.groups[static_cast<std::size_t>(group.group)].spec);
  const auto& starts = context.trace().common.query_start_loc;
  if (spec == nullptr || spec->mamba_type != MambaType::kda || starts[row + 1] - starts[row] < 2)
    return;
  report(context, Rule::foreign_row_datum, {-1, -1, "gate stride", access.row, group.group});
}

void run_row(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
             const StateAccess& access) {
  if (access.row < 0 || access.row >= context.num_rows())
    return run_padding_row(context, group, access);
  check_gates(context, group, access);
  check_kda_gates(context, group, access);
  if (access.is_decode)
    return access.by_column ? run_all_mode_decode(context, truth, group, access)
                            : run_window_row(context, truth, group, access);
  return access.by_column ? run_all_mode_prefill(context, truth, group, access)
                          : run_window_prefill(context, truth, group, access);
}

// Blocks lie anywhere in the pool: without a hint each row would wait for memory.
constexpr std::size_t kRowsAhead = 4;

void prefetch(const CheckContext& context, const StateAccess& access) {
  if (access.blocks.empty()) return;
  const std::int32_t block =
      access.by_column ? access.block_at(access.last_scheduled_column) : access.blocks[0];
  if (!context.is_block(block)) return;
  context.state().prefetch(block);
  __builtin_prefetch(&context.shared().labels[static_cast<std::size_t>(block)]);
}

}  // namespace

// Rows of one launch do not wait for each other: if several name one block, all read its old state,
// so that the state advances by one placeholder.
void execute_dummy_rows(CheckContext& context) {
  const std::vector<DummyRow>& rows = context.trace().dummy_rows;
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    context.report({.rule = Rule::padded_row_not_null,
                    .row = row->row,
                    .group = row->group,
                    .column = 0,
                    .block = row->block,
                    .detail = "a row of a dummy run"});
    const bool written = std::any_of(rows.begin(), row, [&](const DummyRow& before) {
      return before.group == row->group && before.block == row->block;
    });
    if (written) continue;
    context.look_again_at(row->block);
    execute_unneutral_padding_row(context, row->group, row->block);
  }
}

void execute_mamba_group(CheckContext& context, const RowTruth& truth, const GroupTrace& group) {
  std::vector<StateAccess>& accesses = context.shared().metadata.accesses;
  accesses.clear();
  append_state_accesses(*group.metadata,
                        forward_context(context.trace(), group, context.config().mamba_cache_mode),
                        accesses);
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (i + kRowsAhead < accesses.size()) prefetch(context, accesses[i + kRowsAhead]);
    run_row(context, truth, group, accesses[i]);
  }
}

namespace {

// The tokens of a piece of causal_conv1d_fn (KernelVariants::stores_boundaries_by_piece).
constexpr std::int32_t kConvPiece = 8;

// What stands `distance` tokens in front of the row in the batch; poison: nothing.
Fingerprint token_in_front(const RowTruth& truth, std::int32_t row, std::int32_t distance) {
  for (std::int32_t before = row - 1; before >= 0; --before) {
    const std::int32_t length = truth.num_query_tokens(before);
    if (distance <= length)
      return truth.at(before, truth.num_computed_tokens(before) + length - distance + 1);
    distance -= length;
  }
  return kPoison;
}

}  // namespace

std::optional<ConvWindow> history_by_piece(const RowTruth& truth, std::int32_t row,
                                           std::size_t index, std::int32_t conv_kernel) {
  const auto piece = static_cast<std::int32_t>(index) + 1;
  if (piece >= cdiv(truth.num_query_tokens(row), kConvPiece)) return std::nullopt;
  const std::int32_t length = conv_kernel - 1;
  ConvWindow window{};
  for (std::int32_t i = 0; i < length; ++i)
    window[static_cast<std::size_t>(i)] = token_in_front(truth, row, length - i);
  return window;
}

void roll_by_window(const RowTruth& truth, const DecodeRow& row, const CheckConfig& config,
                    const ConvWindow& prior, std::span<Fingerprint> conv) {
  const std::int32_t history = config.conv_kernel - 1;
  const std::int32_t shift = 1 + config.num_speculative_tokens - row.num_query_tokens + 1;
  for (std::int32_t i = 0; i + shift < history + row.num_query_tokens; ++i) {
    const std::int32_t from = i + shift;
    conv[static_cast<std::size_t>(i)] =
        from < history ? prior[static_cast<std::size_t>(from)]
                       : truth.at(row.row, truth.num_computed_tokens(row.row) + 1 + from - history);
  }
}

bool window_spills(const CheckConfig& config, const DecodeRow& row) {
  if (config.missing_conv_positions() == 0 || !row.counts_given) return false;
  return config.conv_kernel - 2 + row.num_query_tokens > config.conv_window_len;
}

}  // namespace hybridscope
