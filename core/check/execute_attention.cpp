#include <algorithm>

#include "core/check/execute_forward.h"

namespace hybridscope {
namespace {

Finding attention_place(RequestId request, std::int32_t group, std::int32_t column,
                        std::int32_t block) {
  Finding finding;
  finding.rule = Rule::attention_slot_unwritten;
  finding.request = request;
  finding.group = group;
  finding.content = ContentKind::attention;
  finding.column = column;
  finding.block = block;
  return finding;
}

// One hit column of an attention group: filled to its end with this very prefix.
void check_hit_block(CheckContext& context, RequestId request, std::int32_t group,
                     std::int32_t column, std::int32_t block_size, Fingerprint expected) {
  const std::int32_t block = context.tables().block_at(request, group, column);
  Finding finding = attention_place(request, group, column, block);
  finding.expected = (column + 1) * block_size;
  if (block == kNullBlock) {
    finding.rule = Rule::hit_longer_than_group;
    finding.seen = column * block_size;
    finding.detail = "the hit covers a column without a block";
    context.report(finding);
    return;
  }
  const AttentionSlots& slots = context.state().attention(block);
  if (slots.filled == block_size && slots.last == expected) return;
  finding.cause = slots.event;
  finding.seen = column * block_size + slots.filled;
  if (slots.filled == 0) finding.rule = Rule::hit_longer_than_group;
  finding.detail = slots.filled == 0           ? "the hit covers a block that nobody filled"
                   : slots.filled < block_size ? "the block is filled in part"
                                               : "the block holds another prefix";
  context.report(finding);
}

}  // namespace

void check_prefix_hits(CheckContext& context) {
  const StepTrace& trace = context.trace();
  const std::int32_t hash_block_size = context.config().hash_block_size;
  std::size_t first_hash = 0;
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.num_hit_tokens == 0) continue;
    const auto num_hashes = static_cast<std::size_t>(scheduled.num_hit_tokens / hash_block_size);
    for (const GroupTrace& group : trace.groups) {
      if (group.is_mamba) continue;
      for (std::int32_t column = 0; (column + 1) * group.block_size <= scheduled.num_hit_tokens;
           ++column) {
        const std::int32_t hash = (column + 1) * group.block_size / hash_block_size - 1;
        check_hit_block(context, scheduled.request, group.group, column, group.block_size,
                        trace.hit_hashes[first_hash + static_cast<std::size_t>(hash)]);
      }
    }
    first_hash += num_hashes;
  }
}

void execute_attention_group(CheckContext& context, const RowTruth& truth,
                             const GroupTrace& group) {
  for (const AttentionWrite& write : group.attention_writes) {
    const RequestId request = context.trace().rows[static_cast<std::size_t>(write.row)].request;
    Finding where = attention_place(request, group.group, write.column, write.block);
    where.row = write.row;
    if (!context.may_write(write.block, where)) continue;
    AttentionSlots& slots = context.state().attention(write.block);
    if (write.first_slot > slots.filled) {
      where.expected = write.first_slot;
      where.seen = slots.filled;
      where.cause = slots.event;
      where.detail = "slots before the row's first token were never written";
      context.report(where);
    }
    const std::int32_t end = write.first_token + write.num_slots;
    slots.filled = write.first_slot + write.num_slots;
    slots.last = truth.prefixes(write.row)[static_cast<std::size_t>(end)];
    slots.event = context.next_write(WriteKind::attention, request,
                                     truth.num_computed_tokens(write.row) + end);
  }
}

}  // namespace hybridscope
