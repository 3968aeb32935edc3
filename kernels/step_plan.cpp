#include "kernels/step_plan.h"

#include <algorithm>

namespace hybridscope {

CopyConflicts::CopyConflicts(std::int32_t num_blocks)
    : written_by_(static_cast<std::size_t>(num_blocks), 0) {}

bool CopyConflicts::found_in(std::span<const StateCopyOp> copies) {
  const auto writer = [this](std::int32_t block) -> std::int32_t& {
    return written_by_[static_cast<std::size_t>(block)];
  };
  bool found = false;
  for (std::size_t i = 0; i < copies.size(); ++i) {
    found = found || writer(copies[i].dst_block) != 0;
    writer(copies[i].dst_block) = static_cast<std::int32_t>(i) + 1;
  }
  const auto reads_foreign = [&](std::size_t i, std::int32_t block) {
    return block >= 0 && writer(block) != 0 && writer(block) != static_cast<std::int32_t>(i) + 1;
  };
  for (std::size_t i = 0; i < copies.size() && !found; ++i)
    found = reads_foreign(i, copies[i].conv_src_block) ||
            reads_foreign(i, copies[i].temporal_src_block);
  for (const StateCopyOp& copy : copies) writer(copy.dst_block) = 0;
  return found;
}

namespace {

std::span<const ForwardWrite> writes_of(const StateOps& ops, const ForwardRow& row) {
  return std::span(ops.writes)
      .subspan(static_cast<std::size_t>(row.first_write), static_cast<std::size_t>(row.num_writes));
}

}  // namespace

RowRuns::RowRuns(std::int32_t num_blocks)
    : read_in_(static_cast<std::size_t>(num_blocks), 0),
      written_in_(static_cast<std::size_t>(num_blocks), 0) {}

bool RowRuns::notices(const StateOps& ops, const ForwardRow& row) const {
  const auto in_run = [this](const std::vector<std::int64_t>& last, std::int32_t block) {
    return block >= 0 && last[static_cast<std::size_t>(block)] == run_;
  };
  if (in_run(written_in_, row.temporal_src_block) || in_run(written_in_, row.conv_src_block))
    return true;
  return std::ranges::any_of(writes_of(ops, row), [&](const ForwardWrite& write) {
    return in_run(written_in_, write.block) || in_run(read_in_, write.block);
  });
}

void RowRuns::mark(const StateOps& ops, const ForwardRow& row) {
  for (const std::int32_t block : {row.temporal_src_block, row.conv_src_block})
    if (block >= 0) read_in_[static_cast<std::size_t>(block)] = run_;
  for (const ForwardWrite& write : writes_of(ops, row))
    written_in_[static_cast<std::size_t>(write.block)] = run_;
}

std::vector<RowRun> RowRuns::split(const StateOps& ops, const StateOpBatch& batch) {
  std::vector<RowRun> runs;
  for (std::int32_t i = batch.first; i < batch.first + batch.count; ++i) {
    const ForwardRow& row = ops.rows[static_cast<std::size_t>(i)];
    if (runs.empty() || notices(ops, row)) {
      ++run_;
      runs.push_back({.first = i, .count = 0});
    }
    ++runs.back().count;
    mark(ops, row);
  }
  return runs;
}

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
      case StateOpKind::copy: add_copies(ops, batch, plan); break;
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
