#include <vector>

#include "core/check/check_context.h"
#include "core/check/check_rules.h"
#include "core/check/execute_step.h"

namespace hybridscope {
namespace {

Finding attention_place(RequestId request, std::int32_t group, std::int32_t column,
                        std::int32_t block) {
  return {.rule = Rule::attention_slot_unwritten,
          .request = request,
          .group = group,
          .content = ContentKind::attention,
          .column = column,
          .block = block};
}

// The block that attention finds in a column of the worker's table.
std::int32_t table_block(const GroupTrace& group, std::int32_t row, std::int32_t column) {
  return group.block_table.present && row < group.block_table.rows &&
                 column < group.block_table.cols
             ? group.block_table.at(row, column)
             : kPadSlotId;
}

// The slot before a row's first token belongs to the row's prefix. With every run of slots complete
// (see execute_attention_group) this covers all slots that attention reads, step by step. A
// rejected draft after it hides what the slot holds, unless a hash block ends with it; then only
// whether it is filled can be checked.
void check_token_before(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                        std::int32_t row) {
  const std::int32_t computed = truth.num_computed_tokens(row);
  if (computed == 0 || truth.num_query_tokens(row) == 0) return;
  const std::int32_t column = (computed - 1) / group.block_size;
  const std::int32_t filled = computed - column * group.block_size;
  const std::int32_t block = table_block(group, row, column);
  if (!context.is_block(block)) return;  // reported as a block-table mismatch
  const AttentionSlots& slots = context.state().attention(block);
  const bool unwritten = slots.filled < filled;
  const bool known = slots.filled == filled || context.state().ends_hash_block(filled);
  if (!unwritten &&
      (!known || context.state().attention_holds(block, filled, truth.prefixes(row)[0])))
    return;
  Finding finding = attention_place(context.trace().rows[static_cast<std::size_t>(row)].request,
                                    group.group, column, block);
  finding.row = row;
  finding.expected = computed;
  finding.seen = column * group.block_size + slots.filled;
  finding.cause = slots.event;
  finding.detail = unwritten ? "slots before the row's first token were never written"
                             : "slots before the row's first token hold another prefix";
  context.report(finding);
}

// One run of slots; it has to be where its tokens' positions say.
void execute_write(CheckContext& context, const RowTruth& truth, const GroupTrace& group,
                   const AttentionWrite& write) {
  const RequestId request = context.trace().rows[static_cast<std::size_t>(write.row)].request;
  Finding where = attention_place(request, group.group, write.column, write.block);
  where.row = write.row;
  const std::int32_t end = write.first_token + write.num_slots;
  where.expected = truth.num_computed_tokens(write.row) + write.first_token;
  where.seen = write.column * group.block_size + write.first_slot;
  if (write.first_token < 0 || write.num_slots < 1 || write.first_slot < 0 ||
      end > truth.num_query_tokens(write.row) ||
      write.first_slot + write.num_slots > group.block_size) {
    where.detail = "slots outside the row's tokens or the block";
    context.report(where);
    return;
  }
  if (where.expected != where.seen) {
    where.detail = "the slot is not that of the token's position";
    context.report(where);
  }
  where.expected = where.seen = -1;
  if (!context.may_write(write.block, where)) return;
  AttentionSlots& slots = context.state().attention(write.block);
  if (write.first_slot > slots.filled && write.first_token > 0) {
    where.expected = write.first_slot;
    where.seen = slots.filled;
    where.cause = slots.event;
    where.detail = "slots in the middle of the row were never written";
    context.report(where);
  }
  const std::span<const Fingerprint> prefixes = truth.prefixes(write.row);
  context.state().write_attention(
      write.block, write.first_slot, write.first_slot + write.num_slots, [&](std::int32_t slot) {
        return prefixes[static_cast<std::size_t>(write.first_token + slot - write.first_slot + 1)];
      });
  slots.event =
      context.next_write(WriteKind::attention, request, truth.num_computed_tokens(write.row) + end);
  context.log_write(slots.event, where, ContentKind::attention, write.block, slots.last);
}

}  // namespace

void check_attention_reads(CheckContext& context, const RowTruth& truth, const GroupTrace& group) {
  for (std::size_t r = 0; r < context.trace().rows.size(); ++r) {
    const auto row = static_cast<std::int32_t>(r);
    for (std::int32_t column = 0; (column + 1) * group.block_size <= truth.num_computed_tokens(row);
         ++column) {
      const std::int32_t block = table_block(group, row, column);
      if (!context.is_block(block)) continue;  // reported as a block-table mismatch
      const AttentionSlots& slots = context.state().attention(block);
      if (slots.filled == group.block_size) continue;
      Finding finding =
          attention_place(context.trace().rows[r].request, group.group, column, block);
      finding.row = row;
      finding.expected = (column + 1) * group.block_size;
      finding.seen = column * group.block_size + slots.filled;
      finding.cause = slots.event;
      finding.detail = "a column before the row's tokens is not filled";
      context.report(finding);
    }
  }
}

void execute_attention_group(CheckContext& context, const RowTruth& truth,
                             const GroupTrace& group) {
  const auto num_rows = static_cast<std::int32_t>(context.trace().rows.size());
  // A row that begins a block may follow one that another row of the step fills.
  const auto check_tokens_before = [&](bool begins_block) {
    for (std::int32_t row = 0; row < num_rows; ++row)
      if ((truth.num_computed_tokens(row) % group.block_size == 0) == begins_block)
        check_token_before(context, truth, group, row);
  };
  check_tokens_before(/*begins_block=*/false);
  std::vector<std::int32_t> written(static_cast<std::size_t>(num_rows), 0);
  for (const AttentionWrite& write : group.attention_writes) {
    if (write.row < 0 || write.row >= num_rows) {
      report(context, Rule::metadata_inconsistent,
             {num_rows, write.row, "slots of a row that does not exist", -1, group.group});
      continue;
    }
    execute_write(context, truth, group, write);
    std::int32_t& next = written[static_cast<std::size_t>(write.row)];
    if (write.first_token == next) next += write.num_slots;
  }
  for (std::int32_t row = 0; row < num_rows; ++row) {
    const std::int32_t seen = written[static_cast<std::size_t>(row)];
    if (seen == truth.num_query_tokens(row)) continue;
    Finding finding = attention_place(context.trace().rows[static_cast<std::size_t>(row)].request,
                                      group.group, -1, -1);
    finding.row = row;
    finding.expected = truth.num_computed_tokens(row) + truth.num_query_tokens(row);
    finding.seen = truth.num_computed_tokens(row) + seen;
    finding.detail = "tokens of the row have no slot";
    context.report(finding);
  }
  check_hits_after_the_writes(context, group);
  check_tokens_before(/*begins_block=*/true);
}

}  // namespace hybridscope
