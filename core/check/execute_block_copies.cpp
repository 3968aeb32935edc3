#include "core/check/execute_block_copies.h"

#include <algorithm>

namespace hybridscope {
namespace {

Finding place_of(const CheckContext& context, const BlockCopy& copy) {
  const KVCacheGroup& group =
      context.config().kv_cache_config.groups[static_cast<std::size_t>(copy.group)];
  Finding finding;
  finding.request = copy.request;
  finding.group = copy.group;
  finding.content = group.is_mamba() ? ContentKind::temporal : ContentKind::attention;
  finding.block = copy.block;
  return finding;
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
