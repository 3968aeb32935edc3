#include "core/check/check_copies.h"

#include <algorithm>
#include <vector>

#include "core/check/check_context.h"

namespace hybridscope {
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
