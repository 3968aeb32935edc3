#include "core/check/execute_step.h"

#include <algorithm>

#include "core/check/state_mirror.h"

namespace hybridscope {
namespace {

Finding place(const CheckContext& context, std::int32_t row, std::int32_t group,
              ContentKind content) {
  return {.request = context.trace().rows[static_cast<std::size_t>(row)].request,
          .row = row,
          .group = group,
          .content = content};
}

// A block that a row reads, and the column of its request's block table that it stands for.
struct Source {
  std::int32_t row = -1;
  std::int32_t group = -1;
  std::int32_t block = 0;
  std::int32_t column = -1;
};

Finding place_of_read(const CheckContext& context, const RowTruth& truth, const Source& source,
                      ContentKind content) {
  Finding finding = place(context, source.row, source.group, content);
  finding.column = source.column;
  finding.expected = truth.num_computed_tokens(source.row);
  return finding;
}

// False: there is nothing to read.
bool check_readable(CheckContext& context, const RowTruth& truth, const Source& source,
                    ContentKind content) {
  if (!context.is_block(source.block)) {
    Finding finding = place_of_read(context, truth, source, content);
    finding.rule = Rule::read_of_unwritten_block;
    finding.block = source.block;
    finding.detail = source.block == kNullBlock   ? "read through the null block"
                     : source.block == kPadSlotId ? "read through the pad id"
                                                  : "read of a block that does not exist";
    context.report(finding);
    return false;
  }
  const RequestId request = context.trace().rows[static_cast<std::size_t>(source.row)].request;
  if (context.tables().block_at(request, source.group, source.column) != source.block)
    context.check_source(source.block, /*owns=*/false,
                         place_of_read(context, truth, source, content));
  return true;
}

// The state a row starts from; reports when it is not S(c).
Fingerprint read_temporal(CheckContext& context, const RowTruth& truth, const Source& source) {
  const auto [row, group, block, column] = source;
  if (!check_readable(context, truth, source, ContentKind::temporal)) return kPoison;
  const TemporalSlot& slot = context.state().temporal(block);
  if (slot.fingerprint == truth.prefixes(row)[0]) return slot.fingerprint;
  if (slot.fingerprint == kBeforeFirstToken && truth.num_computed_tokens(row) == 0)
    return truth.prefixes(row)[0];
  Finding finding = place_of_read(context, truth, source, ContentKind::temporal);
  finding.block = block;
  finding.cause = slot.event;
  finding.seen = slot.event.num_tokens;
  finding.rule = slot.event.kind == WriteKind::never ? Rule::read_of_unwritten_block
                                                     : Rule::running_state_wrong;
  finding.detail =
      slot.event.kind == WriteKind::never ? "never written since it was given out" : "";
  context.report(finding);
  return slot.fingerprint;
}

// Number of the token that a conv position holds, if it is a token of the row or of its history;
// else `otherwise`.
std::int32_t token_number(const RowTruth& truth, std::int32_t row, Fingerprint seen,
                          std::int32_t length, std::int32_t otherwise) {
  const std::int32_t computed = truth.num_computed_tokens(row);
  for (std::int32_t token = std::max(computed - length + 1, 1);
       token <= computed + truth.num_query_tokens(row); ++token)
    if (truth.at(row, token) == seen) return token;
  return otherwise;
}

// Conv positions [offset, offset + W - 1) of a block; reports when they are not the last W - 1
// tokens before the row.
ConvWindow read_conv(CheckContext& context, const RowTruth& truth, const Source& source,
                     std::int32_t offset) {
  const auto [row, group, block, column] = source;
  ConvWindow window{};
  if (!check_readable(context, truth, source, ContentKind::conv)) {
    window.fill(kPoison);
    return window;
  }
  const std::span<const Fingerprint> conv = context.state().conv(block);
  const std::int32_t length = context.config().conv_kernel - 1;
  const std::span<const Fingerprint> history = truth.history(row);
  const std::int32_t first = truth.num_computed_tokens(row) - length + 1;
  bool right = true;
  bool unwritten = false;
  const std::int32_t room =
      context.config().conv_state_len() - context.config().missing_conv_positions();
  const bool passes_the_end = offset + length > room;
  for (std::int32_t i = 0; i < length; ++i) {
    const auto position = static_cast<std::size_t>(offset + i);
    const Fingerprint seen = offset + i < room ? conv[position] : kPoison;
    window[static_cast<std::size_t>(i)] = seen;
    unwritten = unwritten || (seen == kPoison && offset + i < room);
    right = right &&
            seen == (first + i <= 0 ? kBeforeFirstToken : history[static_cast<std::size_t>(i)]);
  }
  if (!right) {
    Finding finding = place_of_read(context, truth, source, ContentKind::conv);
    finding.block = block;
    finding.cause = context.state().conv_event(block);
    finding.seen = token_number(truth, row, window[static_cast<std::size_t>(length - 1)], length,
                                finding.cause.num_tokens);
    finding.rule = unwritten ? Rule::read_of_unwritten_block : Rule::running_state_wrong;
    finding.detail = unwritten        ? "conv positions that were never written"
                     : passes_the_end ? "conv positions behind the end of the window"
                                      : "conv history";
    context.report(finding);
  }
  return window;
}

// `folded`: tokens of the row in what is written; `num_tokens`: all that it encodes.
void write_temporal(CheckContext& context, const Finding& where, WriteKind kind, std::int32_t block,
                    Fingerprint fingerprint, std::int32_t num_tokens, std::int32_t folded) {
  if (!context.may_write(block, where)) return;
  const WriteEvent event = context.next_write(kind, where.request, num_tokens);
  context.state().temporal(block) = {fingerprint, event};
  context.log_write(event, where, ContentKind::temporal, block, fingerprint);
  log_row_write(context,
                {.kind = ForwardWriteKind::temporal, .block = block, .num_tokens = folded});
}

// Positions [0, W - 1) of the block become the W - 1 tokens before position `end` of the row.
void write_conv_tail(CheckContext& context, const RowTruth& truth, const Finding& where,
                     WriteKind kind, std::int32_t block, const ConvWindow& before,
                     std::int32_t end) {
  if (!context.may_write(block, where)) return;
  log_row_write(context, {.kind = ForwardWriteKind::conv_tail,
                          .block = block,
                          .num_tokens = end - truth.num_computed_tokens(where.row)});
  const std::int32_t row = where.row;
  const std::int32_t length = context.config().conv_kernel - 1;
  const std::int32_t computed = truth.num_computed_tokens(row);
  const std::span<Fingerprint> conv = context.state().conv(block);
  for (std::int32_t i = 0; i < length; ++i) {
    const std::int32_t token = end - length + 1 + i;  // token number, 1-based
    const std::int32_t shifted = token - (computed - length + 1);
    conv[static_cast<std::size_t>(i)] =
        token > computed ? truth.at(row, token) : before[static_cast<std::size_t>(shifted)];
  }
  const WriteEvent event = context.next_write(kind, where.request, end);
  context.state().conv_event(block) = event;
  context.log_write(event, where, ContentKind::conv, block,
                    conv[static_cast<std::size_t>(length - 1)]);
}

// Index of the row's first token in the step's tokens.
std::int32_t first_token(const CheckContext& context, std::int32_t row) {
  return context.trace().common.query_start_loc[static_cast<std::size_t>(row)];
}

// The state after folding the row's first `count` tokens into `start`; a wrong `start` gives a
// wrong state.
Fingerprint fold_row(const CheckContext& context, const RowTruth& truth, std::int32_t row,
                     Fingerprint start, std::int32_t count) {
  const std::span<const Fingerprint> prefixes = truth.prefixes(row);
  if (start == prefixes[0]) return prefixes[static_cast<std::size_t>(count)];
  const auto begin = static_cast<std::size_t>(first_token(context, row));
  Fingerprint state = start;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
    state = extend_fingerprint(state, context.trace().tokens[begin + i]);
  return state;
}

// Number of tokens that the state in `block` encodes, by its last write; 0 if unreadable.
std::int32_t encoded_tokens(CheckContext& context, std::int32_t block) {
  return context.is_block(block) ? context.state().temporal(block).event.num_tokens : 0;
}

// Known bug 25: the positions that a window lacks are the front of the block's temporal state.
void spill_window(CheckContext& context, const DecodeRow& row) {
  const std::int32_t block = row.dst_blocks[0];
  if (!window_spills(context.config(), row) || !context.is_block(block)) return;
  const Finding where = place(context, row.row, row.group, ContentKind::temporal);
  TemporalSlot& slot = context.state().temporal(block);
  slot.fingerprint = extend_fingerprint(slot.fingerprint, kPoison);
  slot.event = context.next_write(WriteKind::decode, where.request, slot.event.num_tokens);
  context.log_write(slot.event, where, ContentKind::temporal, block, slot.fingerprint);
}

// What a decode row does to the conv window (semantics: decode-conv, decode-conv-without-counts).
void write_decode_conv(CheckContext& context, const RowTruth& truth, const DecodeRow& row,
                       const ConvWindow& prior, Finding& where) {
  where.content = ContentKind::conv;
  where.column = row.first_dst_column;
  const std::int32_t block = row.dst_blocks[0];
  const std::int32_t end = truth.num_computed_tokens(row.row) + row.num_query_tokens;
  if (!row.counts_given) {
    write_conv_tail(context, truth, where, WriteKind::decode, block, prior, end);
    return;
  }
  if (!context.may_write(block, where)) return;
  log_row_write(
      context,
      {.kind = ForwardWriteKind::conv_window, .block = block, .num_tokens = row.num_query_tokens});
  const std::span<Fingerprint> conv = context.state().conv(block);
  const std::int32_t kept = context.config().conv_kernel - 2;
  if (context.trace().kernels.rolls_conv_by_window &&
      row.num_query_tokens <= context.config().num_speculative_tokens) {
    roll_by_window(truth, row, context.config(), prior, conv);
  } else {
    for (std::int32_t i = 0; i < kept; ++i)
      conv[static_cast<std::size_t>(i)] = prior[static_cast<std::size_t>(i + 1)];
    for (std::int32_t t = 0; t < row.num_query_tokens; ++t)
      conv[static_cast<std::size_t>(kept + t)] =
          truth.at(row.row, truth.num_computed_tokens(row.row) + 1 + t);
  }
  const WriteEvent event = context.next_write(WriteKind::decode, where.request, end);
  context.state().conv_event(block) = event;
  context.log_write(event, where, ContentKind::conv, block, conv[static_cast<std::size_t>(kept)]);
}

}  // namespace

void execute_decode_row(CheckContext& context, const RowTruth& truth, const DecodeRow& row) {
  const std::int32_t widest = 1 + context.config().num_speculative_tokens;
  if (row.num_query_tokens > widest) {
    report(context, Rule::metadata_inconsistent,
           {widest, row.num_query_tokens, "a decode row is longer than a verify window", row.row,
            row.group});
    return;
  }
  const std::int32_t offset = row.counts_given ? row.num_accepted_tokens - 1 : 0;
  spill_window(context, row);
  const Fingerprint start = read_temporal(
      context, truth, {row.row, row.group, row.temporal_src_block, row.temporal_src_column});
  const std::int32_t encoded = encoded_tokens(context, row.temporal_src_block);
  const ConvWindow prior = read_conv(
      context, truth, {row.row, row.group, row.conv_src_block, row.conv_src_column}, offset);
  Finding where = place(context, row.row, row.group, ContentKind::temporal);
  for (std::int32_t t = 0; t < row.num_query_tokens; ++t) {
    const auto target = std::min(static_cast<std::size_t>(t), row.dst_blocks.size() - 1);
    where.column =
        row.first_dst_column < 0 ? -1 : row.first_dst_column + static_cast<std::int32_t>(target);
    write_temporal(context, where, WriteKind::decode, row.dst_blocks[target],
                   fold_row(context, truth, row.row, start, t + 1), encoded + t + 1, t + 1);
  }
  write_decode_conv(context, truth, row, prior, where);
  log_row(context, {.group_index = context.group_index(row.group),
                    .temporal_src_block = context.source_of(row.temporal_src_block),
                    .conv_src_block = context.source_of(row.conv_src_block),
                    .conv_src_position = offset,
                    .first_token = first_token(context, row.row),
                    .num_tokens = row.num_query_tokens,
                    .start = kPoison});
}

namespace {

// Is the row told to store a state inside itself (semantics: prefill-with-checkpoint)? A null block
// means that nobody asked for it.
bool stores_checkpoint(CheckContext& context, const PrefillRow& row, Finding where) {
  if (row.checkpoint_tokens == 0 || row.checkpoint_block == kNullBlock) return false;
  if (row.checkpoint_tokens > 0 && row.checkpoint_tokens < row.num_query_tokens) return true;
  where.rule = Rule::metadata_inconsistent;
  where.column = row.checkpoint_column;
  where.expected = row.num_query_tokens;
  where.seen = row.checkpoint_tokens;
  where.detail = "the state to store lies outside the row's tokens";
  context.report(where);
  return false;
}

}  // namespace

void execute_prefill_row(CheckContext& context, const RowTruth& truth, const PrefillRow& row) {
  const std::int32_t computed = truth.num_computed_tokens(row.row);
  Fingerprint start = truth.prefixes(row.row)[0];
  ConvWindow prior{};
  std::int32_t encoded = 0;
  if (row.has_initial_state) {
    const Source source{row.row, row.group, row.src_block, row.src_column};
    start = read_temporal(context, truth, source);
    encoded = encoded_tokens(context, row.src_block);
    prior = read_conv(context, truth, source, 0);
  } else if (computed > 0) {
    Finding finding = place(context, row.row, row.group, ContentKind::temporal);
    finding.rule = Rule::running_state_wrong;
    finding.expected = computed;
    finding.seen = 0;
    finding.detail = "has_initial_states says there is none";
    context.report(finding);
    start = kPoison;
  }
  Finding where = place(context, row.row, row.group, ContentKind::temporal);
  const auto write_state = [&](std::int32_t block, std::int32_t column, std::int32_t end) {
    where.column = column;
    where.content = ContentKind::temporal;
    write_temporal(context, where, WriteKind::prefill, block,
                   fold_row(context, truth, row.row, start, end - computed),
                   encoded + end - computed, end - computed);
  };
  const auto write_conv = [&](std::int32_t block, std::int32_t column, std::int32_t end,
                              const ConvWindow& history) {
    where.column = column;
    where.content = ContentKind::conv;
    write_conv_tail(context, truth, where, WriteKind::prefill, block, history, end);
  };
  const auto write_boundary_conv = [&](std::size_t index, std::int32_t column, std::int32_t end) {
    const std::int32_t block = row.boundary_blocks[index];
    if (!context.trace().kernels.stores_boundaries_by_piece)
      return write_conv(block, column, end, prior);
    if (const auto history = history_by_piece(truth, row.row, index, context.config().conv_kernel))
      write_conv(block, column, end, *history);
  };
  for (std::size_t i = 0; i < row.boundary_blocks.size(); ++i) {
    const std::int32_t column = row.first_boundary_column + static_cast<std::int32_t>(i);
    const std::int32_t end = (column + 1) * row.boundary_block_size;
    if (end <= computed || end > computed + row.num_query_tokens) {
      where.rule = Rule::metadata_inconsistent;
      where.column = column;
      where.expected = computed;
      where.seen = end;
      where.detail = "the row does not cross the boundary it is told to store";
      context.report(where);
      where.expected = where.seen = -1;
      continue;
    }
    const std::int32_t held = row.boundary_tokens.empty() ? end : computed + row.boundary_tokens[i];
    if (held <= computed || held > computed + row.num_query_tokens) {
      where.rule = Rule::metadata_inconsistent;
      where.column = column;
      where.detail = "the state of a block boundary is taken from a chunk of another row";
      context.report(where);
    } else {
      write_state(row.boundary_blocks[i], column, held);
    }
    write_boundary_conv(i, column, end);
  }
  // In the order of a layer: the row's own window, the state stored inside it, the row's own state.
  const std::int32_t end = computed + row.num_query_tokens;
  const std::int32_t inside = computed + row.checkpoint_tokens;
  const bool stores = stores_checkpoint(context, row, where);
  if (stores) write_state(row.checkpoint_block, row.checkpoint_column, inside);
  write_state(row.dst_block, row.dst_column, end);
  write_conv(row.dst_block, row.dst_column, end, prior);
  if (stores) write_conv(row.checkpoint_block, row.checkpoint_column, inside, prior);
  const bool reads = row.has_initial_state;
  log_row(context, {.group_index = context.group_index(row.group),
                    .temporal_src_block = reads ? context.source_of(row.src_block) : kNoSource,
                    .conv_src_block = reads ? context.source_of(row.src_block) : kNoSource,
                    .first_token = first_token(context, row.row),
                    .num_tokens = row.num_query_tokens,
                    .start = reads ? kPoison : start});
}

void execute_unneutral_padding_row(CheckContext& context, std::int32_t group, std::int32_t block) {
  if (!context.is_block(block)) return;
  TemporalSlot& slot = context.state().temporal(block);
  slot.fingerprint = extend_fingerprint(slot.fingerprint, kPoison);
  slot.event = context.next_write(WriteKind::decode, {}, slot.event.num_tokens + 1);
  context.log_write(slot.event, {}, ContentKind::temporal, block, slot.fingerprint);
  log_row_write(context, {.kind = ForwardWriteKind::temporal, .block = block, .num_tokens = 1});
  log_padding_row(
      context,
      {.group_index = context.group_index(group), .temporal_src_block = block, .start = kPoison});
}

}  // namespace hybridscope
