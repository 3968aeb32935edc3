#include "core/check/check_hits.h"

#include <algorithm>

#include "core/base/math.h"

namespace hybridscope {
namespace {

// A column of a group that a hit covers, and the prefix that it has to end.
struct HitColumn {
  RequestId request{};
  const GroupTrace& group;
  std::int32_t column = 0;
  std::int32_t num_slots = 0;  // of the block; fewer than it has if the hit ends inside it
  Fingerprint expected = 0;
};

Finding hit_place(const HitColumn& hit, std::int32_t block) {
  Finding finding;
  finding.rule = Rule::hit_longer_than_group;
  finding.request = hit.request;
  finding.group = hit.group.group;
  finding.content = hit.group.is_mamba ? ContentKind::temporal : ContentKind::attention;
  finding.column = hit.column;
  finding.block = block;
  finding.expected = hit.column * hit.group.block_size + hit.num_slots;
  finding.seen = hit.column * hit.group.block_size;
  return finding;
}

// The block was found under the hash of this prefix. False: it was not.
bool check_label_of_hit(CheckContext& context, const HitColumn& hit, std::int32_t block) {
  Finding finding = hit_place(hit, block);
  if (block == kNullBlock) {
    finding.detail = "the hit covers a column without a block";
    context.report(finding);
    return false;
  }
  const BlockLabel& label = context.shared().labels[static_cast<std::size_t>(block)];
  if (context.is_registered(block, hit.group.group, hit.expected)) return true;
  // Attention that agreed on less than it found: the block's prefix goes on after the hit, and
  // check_attention_block has compared what it holds.
  if (!hit.group.is_mamba && hit.num_slots < hit.group.block_size && label.registered &&
      label.group == hit.group.group &&
      label.num_tokens > hit.column * hit.group.block_size + hit.num_slots)
    return true;
  if (label.registered) finding.seen = label.num_tokens;
  finding.detail = label.registered ? "the hit's block is registered as another prefix"
                                    : "the hit covers a block that is not registered";
  context.report(finding);
  return false;
}

// An attention block is filled to the end of the hit with this very prefix.
void check_attention_block(CheckContext& context, const HitColumn& hit, std::int32_t block) {
  const std::int32_t block_size = hit.group.block_size;
  const AttentionSlots& slots = context.state().attention(block);
  if (context.state().attention_holds(block, hit.num_slots, hit.expected)) return;
  Finding finding = hit_place(hit, block);
  finding.cause = slots.event;
  finding.seen = hit.column * block_size + slots.filled;
  if (slots.filled > 0) finding.rule = Rule::attention_slot_unwritten;
  finding.detail = slots.filled == 0              ? "the hit covers a block that nobody filled"
                   : slots.filled < hit.num_slots ? "the block is filled in part"
                                                  : "the block holds another prefix";
  context.report(finding);
}

// The block that was hit. One that the hit covers in part is copied in this step: the request holds
// the copy.
std::int32_t hit_block(CheckContext& context, const HitColumn& hit) {
  const std::int32_t held = context.tables().block_at(hit.request, hit.group.group, hit.column);
  if (hit.num_slots == hit.group.block_size) return held;
  for (const BlockCopy& copy : block_copies_of(context.trace().cache_events))
    if (copy.block == held && copy.request == hit.request) return copy.source_block;
  Finding finding = hit_place(hit, held);
  finding.detail = "the hit ends inside a block that is not copied";
  context.report(finding);
  return held;
}

// Calls visit(HitColumn) for every column of the group that the hit needs. `hashes`: fingerprints
// at the hash_block_size ends of the hit.
template <class Visit>
void for_each_column(const CheckContext& context, const ScheduledTrace& scheduled,
                     const GroupTrace& group, std::span<const Fingerprint> hashes, Visit visit) {
  const std::int32_t block_size = group.block_size;
  const std::int32_t hash_block_size = context.config().hash_block_size;
  const std::int32_t num_columns = context.config().hits_inside_blocks
                                       ? cdiv(scheduled.num_hit_tokens, block_size)
                                       : scheduled.num_hit_tokens / block_size;
  // A mamba group needs the state at the end of the hit, attention every block.
  for (std::int32_t column = group.is_mamba ? std::max(num_columns - 1, 0) : 0;
       column < num_columns; ++column) {
    const std::int32_t end = std::min((column + 1) * block_size, scheduled.num_hit_tokens);
    if (end % hash_block_size != 0) break;  // a trace that contradicts itself
    const std::int32_t hash = end / hash_block_size - 1;
    visit(HitColumn{scheduled.request, group, column, end - column * block_size,
                    hashes[static_cast<std::size_t>(hash)]});
  }
}

// Kernels write the keys and values of all rows before they read any, so a whole block may also be
// filled by this step. One that the hit covers in part is copied before the step writes.
bool is_read_after_the_writes(const HitColumn& hit) {
  return !hit.group.is_mamba && hit.num_slots == hit.group.block_size;
}

void check_hit_column(CheckContext& context, const HitColumn& hit) {
  const std::int32_t block = hit_block(context, hit);
  if (block != kNullBlock && !hit.group.is_mamba && !is_read_after_the_writes(hit))
    check_attention_block(context, hit, block);
  check_label_of_hit(context, hit, block);
}

}  // namespace

void check_prefix_hits(CheckContext& context) {
  const StepTrace& trace = context.trace();
  std::span<const Fingerprint> hashes(trace.hit_hashes);
  for (const ScheduledTrace& scheduled : trace.scheduled) {
    if (scheduled.num_hit_tokens <= 0) continue;
    const auto count =
        static_cast<std::size_t>(scheduled.num_hit_tokens / context.config().hash_block_size);
    if (count > hashes.size()) {
      Finding finding;
      finding.rule = Rule::metadata_inconsistent;
      finding.request = scheduled.request;
      finding.expected = static_cast<std::int64_t>(count);
      finding.seen = static_cast<std::int64_t>(hashes.size());
      finding.detail = "fingerprints of the hit";
      context.report(finding);
      return;
    }
    for (const GroupTrace& group : trace.groups)
      for_each_column(context, scheduled, group, hashes.first(count),
                      [&](const HitColumn& hit) { check_hit_column(context, hit); });
    hashes = hashes.subspan(count);
  }
}

void check_hits_after_the_writes(CheckContext& context, const GroupTrace& group) {
  std::span<const Fingerprint> hashes(context.trace().hit_hashes);
  for (const ScheduledTrace& scheduled : context.trace().scheduled) {
    if (scheduled.num_hit_tokens <= 0) continue;
    const auto count =
        static_cast<std::size_t>(scheduled.num_hit_tokens / context.config().hash_block_size);
    if (count > hashes.size()) return;  // reported by check_prefix_hits
    for_each_column(context, scheduled, group, hashes.first(count), [&](const HitColumn& hit) {
      const std::int32_t block =
          context.tables().block_at(hit.request, hit.group.group, hit.column);
      if (block != kNullBlock && is_read_after_the_writes(hit))
        check_attention_block(context, hit, block);
    });
    hashes = hashes.subspan(count);
  }
}

}  // namespace hybridscope
