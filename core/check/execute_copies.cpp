#include "core/check/execute_step.h"

#include <algorithm>
#include <utility>

namespace hybridscope {
namespace {

// A copy moves the state of its row, whatever request it names (check_copies reports that).
Finding place(const CheckContext& context, const CopyLaunch& launch, const StateCopyTrace& copy,
              ContentKind content) {
  const CopyDecisionTrace& decision = launch.decisions[static_cast<std::size_t>(copy.decision)];
  const std::vector<RowTrace>& rows = context.trace().rows;
  return {.request = decision.row >= 0 && static_cast<std::size_t>(decision.row) < rows.size()
                         ? rows[static_cast<std::size_t>(decision.row)].request
                         : decision.request,
          .row = decision.row,
          .group = copy.group,
          .content = content,
          .column = decision.decision.dst_col};
}

void report_source(CheckContext& context, Finding finding, std::int32_t block,
                   std::string_view detail, std::int32_t column) {
  finding.rule = Rule::read_of_unwritten_block;
  finding.block = block;
  finding.column = column;
  finding.detail = detail;
  context.report(finding);
}

// The scheduler may have moved a speculative block to another column since it was written, so any
// column of the request's table will do.
void check_owner(CheckContext& context, Finding finding, std::int32_t block) {
  const bool owns = context.tables().holds(finding.request, finding.group, block);
  finding.column = -1;
  context.check_source(block, owns, finding);
}

StateCopyOp op_of(const CheckContext& context, const StateCopyTrace& copy) {
  return {.group_index = context.group_index(copy.group),
          .conv_src_block = context.source_of(copy.conv_src_block),
          .temporal_src_block = context.source_of(copy.temporal_src_block),
          .dst_block = copy.dst_block,
          .accept_token_bias = copy.accept_token_bias};
}

// `launched`: a copy of this launch was logged before.
void log_copy(CheckContext& context, const StateCopyTrace& copy, bool& launched) {
  StateOps* ops = context.ops();
  if (ops == nullptr) return;
  if (!std::exchange(launched, true)) ops->begin_launch();
  ops->add_copy(op_of(context, copy));
}

bool shifts_in_place(const CheckContext& context, const StateCopyTrace& copy) {
  return context.trace().kernels.shifts_last_position_first &&
         copy.conv_src_block == copy.dst_block && copy.accept_token_bias > 0;
}

// A left shift whose last position is stored first: a position may be overwritten before it is
// read.
void shift_last_position_first(CheckContext& context, Finding where, const StateCopyTrace& copy,
                               std::span<Fingerprint> conv) {
  const auto bias = static_cast<std::size_t>(copy.accept_token_bias);
  if (bias < conv.size() - bias) {
    where.rule = Rule::conflicting_copies;
    where.content = ContentKind::conv;
    where.block = copy.dst_block;
    where.detail = "positions of one window are overwritten before they are read";
    context.report(where);
  }
  for (std::size_t i = conv.size() - bias; i-- > 0;) conv[i] = conv[i + bias];
}

}  // namespace

CopyExecutor::CopyExecutor(const CheckConfig& config)
    : written_by_(static_cast<std::size_t>(config.kv_cache_config.num_blocks), 0) {}

void CopyExecutor::report_conflicts(CheckContext& context, const CopyLaunch& launch) {
  const auto mark = [&](std::int32_t block) -> std::int32_t& {
    return written_by_[static_cast<std::size_t>(block)];
  };
  const auto conflict = [&](const StateCopyTrace& copy, std::int32_t block,
                            std::string_view detail) {
    Finding finding = place(context, launch, copy, ContentKind::none);
    finding.rule = Rule::conflicting_copies;
    finding.block = block;
    finding.detail = detail;
    context.report(finding);
  };
  for (std::size_t i = 0; i < launch.copies.size(); ++i) {
    const std::int32_t dst = launch.copies[i].dst_block;
    if (!context.is_block(dst)) continue;
    if (mark(dst) != 0) conflict(launch.copies[i], dst, "two copies write the block");
    mark(dst) = static_cast<std::int32_t>(i) + 1;
  }
  for (std::size_t i = 0; i < launch.copies.size(); ++i) {
    const StateCopyTrace& copy = launch.copies[i];
    for (const std::int32_t src : {copy.conv_src_block, copy.temporal_src_block}) {
      if (!context.is_block(src)) continue;
      const std::int32_t writer = mark(src);
      if (writer != 0 && writer != static_cast<std::int32_t>(i) + 1)
        conflict(copy, src, "a copy reads what another copy writes");
    }
  }
  for (const StateCopyTrace& copy : launch.copies)
    if (context.is_block(copy.dst_block)) mark(copy.dst_block) = 0;
}

void CopyExecutor::read_sources(CheckContext& context, const CopyLaunch& launch) {
  const auto length = static_cast<std::size_t>(context.config().conv_state_len());
  sources_.assign(launch.copies.size(), {});
  windows_.assign(launch.copies.size() * length, kPoison);
  for (std::size_t i = 0; i < launch.copies.size(); ++i) {
    const StateCopyTrace& copy = launch.copies[i];
    const StateCopyDecision& decision =
        launch.decisions[static_cast<std::size_t>(copy.decision)].decision;
    if (!context.is_block(copy.temporal_src_block)) {
      report_source(context, place(context, launch, copy, ContentKind::temporal),
                    copy.temporal_src_block, "copied from a block that holds no state",
                    decision.src_col + copy.accept_token_bias);
    } else {
      check_owner(context, place(context, launch, copy, ContentKind::temporal),
                  copy.temporal_src_block);
      sources_[i].temporal = context.state().temporal(copy.temporal_src_block);
      if (sources_[i].temporal.event.kind == WriteKind::never)
        report_source(context, place(context, launch, copy, ContentKind::temporal),
                      copy.temporal_src_block, "copied from a state that was never written",
                      decision.src_col + copy.accept_token_bias);
    }
    if (!context.is_block(copy.conv_src_block)) {
      report_source(context, place(context, launch, copy, ContentKind::conv), copy.conv_src_block,
                    "copied from a block that holds no state", decision.src_col);
    } else {
      if (copy.conv_src_block != copy.temporal_src_block)
        check_owner(context, place(context, launch, copy, ContentKind::conv), copy.conv_src_block);
      sources_[i].conv_event = context.state().conv_event(copy.conv_src_block);
      std::ranges::copy(context.state().conv(copy.conv_src_block),
                        windows_.begin() + static_cast<std::ptrdiff_t>(i * length));
    }
  }
}

void CopyExecutor::execute(CheckContext& context, const CopyLaunch& launch, WriteKind kind) {
  if (launch.copies.empty()) return;
  report_conflicts(context, launch);
  read_sources(context, launch);
  const std::int32_t length = context.config().conv_state_len();
  bool launched = false;
  for (std::size_t i = 0; i < launch.copies.size(); ++i) {
    const StateCopyTrace& copy = launch.copies[i];
    Finding where = place(context, launch, copy, ContentKind::temporal);
    if (copy.accept_token_bias < 0 || copy.accept_token_bias >= length) {
      where.rule = Rule::copy_out_of_range;
      where.expected = length - 1;
      where.seen = copy.accept_token_bias;
      where.block = copy.dst_block;
      context.report(where);
      continue;
    }
    if (!context.may_write(copy.dst_block, where)) continue;
    log_copy(context, copy, launched);
    const Source& source = sources_[i];
    const RequestId request = where.request;
    const WriteEvent temporal = context.next_write(kind, request, source.temporal.event.num_tokens);
    context.state().temporal(copy.dst_block) = {source.temporal.fingerprint, temporal};
    context.log_write(temporal, where, ContentKind::temporal, copy.dst_block,
                      source.temporal.fingerprint);
    const std::span<Fingerprint> conv = context.state().conv(copy.dst_block);
    const Fingerprint* window = windows_.data() + i * static_cast<std::size_t>(length);
    if (shifts_in_place(context, copy))
      shift_last_position_first(context, where, copy, conv);
    else
      std::copy(window + copy.accept_token_bias, window + length, conv.begin());
    const WriteEvent window_event = context.next_write(kind, request, source.conv_event.num_tokens);
    context.state().conv_event(copy.dst_block) = window_event;
    context.log_write(window_event, where, ContentKind::conv, copy.dst_block,
                      conv[static_cast<std::size_t>(context.config().conv_kernel - 2)]);
  }
}

namespace {

Finding place_of(const CheckContext& context, const BlockCopy& copy) {
  const KVCacheGroup& group =
      context.config().kv_cache_config.groups[static_cast<std::size_t>(copy.group)];
  return {.request = copy.request,
          .group = copy.group,
          .content = group.is_mamba() ? ContentKind::temporal : ContentKind::attention,
          .block = copy.block};
}

// Column of the request's table that holds the block; -1: none does.
std::int32_t column_of(CheckContext& context, const BlockCopy& copy) {
  const auto ids = context.tables().block_ids(copy.request, copy.group);
  const auto found = std::ranges::find(ids, copy.block);
  return found == ids.end() ? -1 : static_cast<std::int32_t>(found - ids.begin());
}

bool is_written(const CheckContext& context, const BlockCopy& copy, ContentKind content) {
  const SymbolicState& state = context.shared().state;
  return content == ContentKind::attention
             ? state.attention(copy.source_block).filled > 0
             : state.temporal(copy.source_block).event.kind != WriteKind::never;
}

// The new owner of the copied content.
WriteEvent copied(CheckContext& context, const BlockCopy& copy, const WriteEvent& source) {
  return context.next_write(WriteKind::block_copy, copy.request, source.num_tokens);
}

void log_content(CheckContext& context, const Finding& where, const BlockCopy& copy) {
  SymbolicState& state = context.state();
  if (where.content == ContentKind::attention) {
    AttentionSlots& slots = state.attention(copy.block);
    slots.event = copied(context, copy, slots.event);
    context.log_write(slots.event, where, ContentKind::attention, copy.block, slots.last);
    return;
  }
  TemporalSlot& temporal = state.temporal(copy.block);
  temporal.event = copied(context, copy, temporal.event);
  context.log_write(temporal.event, where, ContentKind::temporal, copy.block, temporal.fingerprint);
  WriteEvent& conv = state.conv_event(copy.block);
  conv = copied(context, copy, conv);
  context.log_write(
      conv, where, ContentKind::conv, copy.block,
      state.conv(copy.block)[static_cast<std::size_t>(context.config().conv_kernel - 2)]);
  if (StateOps* ops = context.ops())
    ops->add_copy({.group_index = context.group_index(copy.group),
                   .conv_src_block = copy.source_block,
                   .temporal_src_block = copy.source_block,
                   .dst_block = copy.block,
                   .accept_token_bias = 0});
}

void execute(CheckContext& context, const BlockCopy& copy) {
  Finding where = place_of(context, copy);
  if (!context.is_block(copy.source_block) || !context.is_block(copy.block)) {
    where.rule = Rule::metadata_inconsistent;
    where.detail = "a copy of a block that does not exist";
    context.report(where);
    return;
  }
  if (!is_written(context, copy, where.content)) {
    Finding finding = where;
    finding.rule = Rule::read_of_unwritten_block;
    finding.block = copy.source_block;
    finding.detail = "copied from a block that nobody wrote";
    context.report(finding);
  }
  where.column = column_of(context, copy);
  if (where.column >= 0) {
    if (!context.may_write(copy.block, where)) return;
  } else {
    context.look_again_at(copy.block);  // only the prefix cache holds it
  }
  context.state().copy_block(copy.source_block, copy.block);
  log_content(context, where, copy);
}

// The step reads every source before it writes a block: a copy whose source is another's
// destination runs before that one. The cache manager lists chains in order, so the last link comes
// first.
void read_before_written(std::vector<BlockCopy>& copies) {
  const auto reads_a_copy = [&](const BlockCopy& copy) {
    return std::ranges::any_of(copies, [&](const BlockCopy& other) {
      return other.group == copy.group && other.block == copy.source_block;
    });
  };
  std::vector<BlockCopy> first;
  for (const BlockCopy& copy : copies)
    if (reads_a_copy(copy)) first.insert(first.begin(), copy);
  if (first.empty()) return;
  for (const BlockCopy& copy : copies)
    if (!reads_a_copy(copy)) first.push_back(copy);
  copies = std::move(first);
}

}  // namespace

void execute_block_copies(CheckContext& context) {
  std::vector<BlockCopy> copies = block_copies_of(context.trace().cache_events);
  if (copies.empty()) return;
  read_before_written(copies);
  if (StateOps* ops = context.ops()) ops->begin_launch();
  for (const BlockCopy& copy : copies)
    if (copy.group >= 0 &&
        static_cast<std::size_t>(copy.group) < context.config().kv_cache_config.groups.size())
      execute(context, copy);
}

}  // namespace hybridscope
