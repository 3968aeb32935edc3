#include "core/check/check_rules.h"

#include <algorithm>
#include <vector>

#include "core/base/math.h"
#include "core/check/check_context.h"

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
  return {.rule = Rule::hit_longer_than_group,
          .request = hit.request,
          .group = hit.group.group,
          .content = hit.group.is_mamba ? ContentKind::temporal : ContentKind::attention,
          .column = hit.column,
          .block = block,
          .expected = hit.column * hit.group.block_size + hit.num_slots,
          .seen = hit.column * hit.group.block_size};
}

// The block was found under the hash of this prefix.
void check_label_of_hit(CheckContext& context, const HitColumn& hit, std::int32_t block) {
  Finding finding = hit_place(hit, block);
  if (block == kNullBlock) {
    finding.detail = "the hit covers a column without a block";
    return context.report(finding);
  }
  const BlockLabel& label = context.shared().labels[static_cast<std::size_t>(block)];
  if (context.is_registered(block, hit.group.group, hit.expected)) return;
  // Attention that agreed on less than it found: the block's prefix goes on after the hit, and
  // check_attention_block has compared what it holds.
  if (!hit.group.is_mamba && hit.num_slots < hit.group.block_size && label.registered &&
      label.group == hit.group.group &&
      label.num_tokens > hit.column * hit.group.block_size + hit.num_slots)
    return;
  if (label.registered) finding.seen = label.num_tokens;
  finding.detail = label.registered ? "the hit's block is registered as another prefix"
                                    : "the hit covers a block that is not registered";
  context.report(finding);
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
      context.report({.rule = Rule::metadata_inconsistent,
                      .request = scheduled.request,
                      .expected = static_cast<std::int64_t>(count),
                      .seen = static_cast<std::int64_t>(hashes.size()),
                      .detail = "fingerprints of the hit"});
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

namespace {

std::int32_t claimed_references(const CheckContext& context, std::int32_t block) {
  return context.shared().claimed_refs[static_cast<std::size_t>(block)];
}

// The columns that hold the block, and the frees of it that are not due yet.
std::int32_t num_holders(const CheckContext& context, std::int32_t block) {
  const BlockTableMirror& tables = context.shared().tables;
  return tables.holders(block) + tables.deferred(block);
}

void check_reference_count(CheckContext& context, const ChangedBlock& changed) {
  const std::int32_t claimed = claimed_references(context, changed.block);
  const std::int32_t holders = num_holders(context, changed.block);
  if (claimed == holders) return;
  context.report({.rule = Rule::reference_count,
                  .request = changed.request,
                  .group = changed.group,
                  .block = changed.block,
                  .expected = holders,
                  .seen = claimed,
                  .detail = "expected as many as columns hold it"});
}

// A request whose table holds the block in any group; -1: none.
RequestId holder_of(const CheckContext& context, std::int32_t block) {
  const BlockTableMirror& tables = context.shared().tables;
  for (const RequestId request : tables.requests())
    for (std::int32_t group = 0; group < tables.num_groups(); ++group)
      if (tables.holds(request, group, block)) return request;
  return {};
}

}  // namespace

void check_reference_change(CheckContext& context, const CacheEvent& event) {
  const std::int32_t before = claimed_references(context, event.block);
  const bool allocated = event.kind == CacheEventKind::allocated;
  const std::int32_t expected =
      allocated ? 1 : before + (event.kind == CacheEventKind::touched ? 1 : -1);
  if (event.ref_cnt == expected && (!allocated || before == 0)) return;
  Finding finding{.rule = Rule::reference_count,
                  .request = event.request,
                  .group = event.group,
                  .column = event.column,
                  .block = event.block,
                  .expected = allocated ? 0 : expected,
                  .seen = allocated ? before : event.ref_cnt,
                  .detail = allocated ? "given out with references left"
                                      : "the count does not follow from the one before"};
  if (const RequestId holder = allocated ? holder_of(context, event.block) : RequestId{};
      holder.value >= 0) {
    finding.expected = -1;
    finding.seen = holder.value;
    finding.detail = "given out while a request holds it";
  }
  context.report(finding);
}

void check_reference_counts(CheckContext& context, std::vector<ChangedBlock>& changed) {
  const auto counts_agree = [&](const ChangedBlock& one) {
    return one.block == kNullBlock ||
           claimed_references(context, one.block) == num_holders(context, one.block);
  };
  if (std::ranges::all_of(changed, counts_agree)) return;
  std::ranges::stable_sort(changed, {}, &ChangedBlock::block);
  for (std::size_t i = 0; i < changed.size(); ++i)
    if (changed[i].block != kNullBlock &&
        (i + 1 == changed.size() || changed[i + 1].block != changed[i].block))
      check_reference_count(context, changed[i]);
}

namespace {

bool refers_to_something(CheckContext& context, const CopyLaunch& launch,
                         const StateCopyTrace& copy) {
  const auto& groups = context.config().kv_cache_config.groups;
  if (copy.decision >= 0 && static_cast<std::size_t>(copy.decision) < launch.decisions.size() &&
      copy.group >= 0 && static_cast<std::size_t>(copy.group) < groups.size() &&
      groups[static_cast<std::size_t>(copy.group)].is_mamba())
    return true;
  report(context, Rule::metadata_inconsistent,
         {static_cast<std::int64_t>(launch.decisions.size()), copy.decision,
          "a copy without a decision or a mamba group", -1, copy.group});
  return false;
}

void check_decision(CheckContext& context, const CopyDecisionTrace& decision) {
  const auto& rows = context.trace().rows;
  const bool exists = decision.row >= 0 && static_cast<std::size_t>(decision.row) < rows.size();
  if (!exists) {
    report(context, Rule::metadata_inconsistent,
           {static_cast<std::int64_t>(rows.size()), decision.row,
            "a copy decision for a row that does not exist", -1, -1});
    return;
  }
  const RequestId request = rows[static_cast<std::size_t>(decision.row)].request;
  if (request != decision.request)
    report(context, Rule::foreign_row_datum,
           {request.value, decision.request.value, "copy decision of another request", decision.row,
            -1});
}

// The null block and the pad id mean the same here: no block.
void expect_block(CheckContext& context, const GroupTrace& group, std::int32_t row,
                  std::int32_t column, std::int32_t seen, std::string_view detail) {
  const TensorView<std::int32_t>& table = group.block_table;
  if (!table.present || row < 0 || row >= table.rows) return;  // reported as a table mismatch
  const std::int32_t expected =
      column >= 0 && column < table.cols ? table.at(row, column) : kNullBlock;
  if (std::max(expected, kNullBlock) != std::max(seen, kNullBlock))
    expect_equal(context, {expected, seen, detail, row, group.group});
}

void check_copy(CheckContext& context, const CopyDecisionTrace& decision,
                const StateCopyTrace& copy) {
  const GroupTrace& group = context.trace().groups[static_cast<std::size_t>(copy.group)];
  const StateCopyDecision& terms = decision.decision;
  expect_equal(context, {terms.accept_token_bias, copy.accept_token_bias, "shift of a copy",
                         decision.row, copy.group});
  expect_block(context, group, decision.row, terms.src_col, copy.conv_src_block,
               "conv source of a copy");
  expect_block(context, group, decision.row, terms.src_col + terms.accept_token_bias,
               copy.temporal_src_block, "temporal source of a copy");
  expect_block(context, group, decision.row, terms.dst_col, copy.dst_block,
               "destination of a copy");
}

// A decision is carried out in each mamba group once, or in none. Copies beyond that are not looked
// at one by one: which of them is the extra one is not known, and what the rule would copy where it
// copies nothing has no meaning.
void check_copies_of_decisions(CheckContext& context, const CopyLaunch& launch) {
  const std::size_t num_groups = context.config().kv_cache_config.groups.size();
  std::vector<std::int32_t> num_copies(launch.decisions.size() * num_groups, 0);
  for (const StateCopyTrace& copy : launch.copies)
    ++num_copies[static_cast<std::size_t>(copy.decision) * num_groups +
                 static_cast<std::size_t>(copy.group)];
  const auto num_of = [&](const StateCopyTrace& copy) {
    return num_copies[static_cast<std::size_t>(copy.decision) * num_groups +
                      static_cast<std::size_t>(copy.group)];
  };
  for (const StateCopyTrace& copy : launch.copies) {
    const CopyDecisionTrace& decided = launch.decisions[static_cast<std::size_t>(copy.decision)];
    if (num_of(copy) == 1 && decided.decision.copies()) check_copy(context, decided, copy);
  }
  for (std::size_t i = 0; i < launch.decisions.size(); ++i)
    for (const GroupTrace& group : context.trace().groups) {
      if (!group.is_mamba) continue;
      const std::int32_t expected = launch.decisions[i].decision.copies() ? 1 : 0;
      const std::int32_t seen = num_copies[i * num_groups + static_cast<std::size_t>(group.group)];
      expect_equal(context, {expected, seen, seen > expected ? "an extra copy" : "a missing copy",
                             launch.decisions[i].row, group.group});
    }
}

}  // namespace

bool check_copies(CheckContext& context, const CopyLaunch& launch) {
  bool whole = true;
  for (const StateCopyTrace& copy : launch.copies)
    whole = refers_to_something(context, launch, copy) && whole;
  if (!whole) return false;
  for (const CopyDecisionTrace& decision : launch.decisions) check_decision(context, decision);
  check_copies_of_decisions(context, launch);
  return true;
}

}  // namespace hybridscope
