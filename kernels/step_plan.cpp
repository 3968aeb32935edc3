#include "kernels/step_plan.h"

#include <algorithm>

namespace hybridscope {

StepPlanner::StepPlanner(const MemoryMap& map)
    : has_temporal_(!map.temporal_kinds.empty()),
      has_conv_(!map.conv_kinds.empty()),
      conflicts_(map.num_blocks),
      row_runs_(map.num_blocks),
      last_writer_(static_cast<std::size_t>(map.num_blocks), 0) {}

StepPlan StepPlanner::plan(const StateOps& ops) {
  StepPlan plan;
  for (const StateOpBatch& batch : ops.batches) {
    if (batch.count == 0) continue;
    switch (batch.kind) {
      case StateOpKind::poison:
        plan.launches.push_back({LaunchKind::poison, batch.first, batch.count});
        break;
      case StateOpKind::copy:
        add_copies(ops, batch, plan);
        break;
      case StateOpKind::forward:
        for (const RowRun& run : row_runs_.split(ops, batch)) add_rows(ops, run, plan);
        break;
    }
  }
  return plan;
}

void StepPlanner::add_copies(const StateOps& ops, const StateOpBatch& batch, StepPlan& plan) {
  const auto copies =
      std::span(ops.copies)
          .subspan(static_cast<std::size_t>(batch.first), static_cast<std::size_t>(batch.count));
  if (copies.size() == 1 || !conflicts_.found_in(copies)) {
    plan.launches.push_back({LaunchKind::copy, batch.first, batch.count});
    return;
  }
  plan.most_meeting = std::max<std::int64_t>(plan.most_meeting, batch.count);
  plan.launches.push_back({LaunchKind::meeting_copies, batch.first, batch.count});
}

void StepPlanner::add_rows(const StateOps& ops, const RowRun& run, StepPlan& plan) {
  const auto first_temporal = static_cast<std::int32_t>(plan.temporal_writes.size());
  bool writes_conv = false;
  for (std::int32_t r = run.first; r < run.first + run.count; ++r) {
    const ForwardRow& row = ops.rows[static_cast<std::size_t>(r)];
    ++write_number_;
    // Backwards: the last write to a block replaces those before it.
    for (std::int32_t w = row.first_write + row.num_writes; w-- > row.first_write;) {
      const ForwardWrite& write = ops.writes[static_cast<std::size_t>(w)];
      writes_conv = writes_conv || is_conv_write(write);
      std::int64_t& last = last_writer_[static_cast<std::size_t>(write.block)];
      if (is_conv_write(write) || last == write_number_) continue;
      last = write_number_;
      plan.temporal_writes.push_back({.row = r, .write = w});
    }
  }
  const auto num_temporal = static_cast<std::int32_t>(plan.temporal_writes.size()) - first_temporal;
  if (has_temporal_ && num_temporal > 0) {
    plan.launches.push_back({LaunchKind::fold, run.first, run.count});
    plan.launches.push_back({LaunchKind::write_temporal, first_temporal, num_temporal});
  }
  if (has_conv_ && writes_conv)
    plan.launches.push_back({LaunchKind::write_conv, run.first, run.count});
}

}  // namespace hybridscope
