#include "core/language/step_copies.h"

#include <algorithm>

#include "core/language/copy_verdict.h"

namespace hybridscope {
namespace {

// Are these the launch's copies, every one, and all of them between blocks?
bool are_all_copies(const CopyLaunch& launch, std::span<const StateCopyOp> copies,
                    const LanguageLayout& layout) {
  return std::ranges::equal(
      launch.copies, copies, [&](const StateCopyTrace& traced, const StateCopyOp& copy) {
        return copy.conv_src_block >= 0 && copy.temporal_src_block >= 0 &&
               layout.mamba_groups[static_cast<std::size_t>(copy.group_index)] == traced.group &&
               copy.conv_src_block == traced.conv_src_block &&
               copy.temporal_src_block == traced.temporal_src_block &&
               copy.dst_block == traced.dst_block &&
               copy.accept_token_bias == traced.accept_token_bias;
      });
}

}  // namespace

void StepCopies::run(const StepTrace& trace, const StateOps& ops, const OpRange& range,
                     LanguageMachine& machine) {
  const CopyLaunch* launch = range.launch;  // null: carried out, or none
  if (launch != nullptr && launch->decisions.empty()) launch = nullptr;
  for (std::size_t i = range.first; i < range.end; ++i) {
    const StateOpBatch& batch = ops.batches[i];
    const auto from = static_cast<std::size_t>(batch.first);
    const auto count = static_cast<std::size_t>(batch.count);
    if (batch.kind == StateOpKind::poison)
      machine.poison(std::span(ops.poisoned).subspan(from, count));
    if (batch.kind != StateOpKind::copy) continue;
    const auto copies = std::span(ops.copies).subspan(from, count);
    if (launch != nullptr && are_all_copies(*launch, copies, machine.layout()))
      decide(trace, *std::exchange(launch, nullptr), copies, machine);
    else
      machine.copy(copies, trace.kernels.shifts_last_position_first);
  }
  // Decisions against copies are decisions too.
  if (launch != nullptr && launch->copies.empty()) decide(trace, *launch, {}, machine);
}

void StepCopies::decide(const StepTrace& trace, const CopyLaunch& launch,
                        std::span<const StateCopyOp> copies, LanguageMachine& machine) {
  const bool last_first = trace.kernels.shifts_last_position_first;
  if (!has_own_engine_ || trace.kernels.varies_post_copies || last_first ||
      launch.decisions.size() != trace.rows.size())
    return machine.copy(copies, last_first);
  std::vector<std::int32_t> slots;
  for (const RowTrace& row : trace.rows) slots.push_back(row.slot);
  std::vector<TensorView<std::int32_t>> tables;
  for (const GroupTrace& group : trace.groups)
    if (group.is_mamba) tables.push_back(group.block_table);
  if (const auto number = machine.copy_decided({.decisions = launch.decisions,
                                                .slots = slots,
                                                .query_start_loc = trace.common.query_start_loc,
                                                .block_tables = tables,
                                                .copies = copies}))
    decided_.emplace_back(&launch, *number);
}

Status StepCopies::check(const LanguageMachine& machine) {
  for (const auto& [launch, number] : std::exchange(decided_, {}))
    if (Status same = compare_decisions(*launch, machine.decided(number)); !same) return same;
  return Ok{};
}

}  // namespace hybridscope
