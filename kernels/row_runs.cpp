#include "kernels/row_runs.h"

#include <algorithm>
#include <span>

namespace hybridscope {
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

}  // namespace hybridscope
