#include "sessions/record/worker_tables.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {
namespace {

// A column whose block was never recorded.
constexpr std::int32_t kUnknown = -2;

// Rows are as wide as the longest request may become and mostly empty, so they are scanned in
// strides that the compiler vectorises.
std::size_t used_columns(std::span<const std::int32_t> row) {
  constexpr std::size_t kStride = 64;
  std::size_t used = row.size();
  while (used >= kStride) {
    std::int32_t any = 0;
    for (const std::int32_t block : row.subspan(used - kStride, kStride)) any |= block ^ kNullBlock;
    if (any != 0) break;
    used -= kStride;
  }
  while (used > 0 && row[used - 1] == kNullBlock) --used;
  return used;
}

}  // namespace

WorkerTables::WorkerTables(std::int32_t num_groups)
    : num_groups_(static_cast<std::size_t>(num_groups)) {}

std::vector<std::int32_t>& WorkerTables::table(RequestId request, std::int32_t group) {
  HS_EXPECT(request.value >= 0 && group >= 0 && static_cast<std::size_t>(group) < num_groups_);
  const std::size_t index =
      static_cast<std::size_t>(request.value) * num_groups_ + static_cast<std::size_t>(group);
  if (index >= tables_.size())
    tables_.resize((static_cast<std::size_t>(request.value) + 1) * num_groups_);
  return tables_[index];
}

void WorkerTables::follow(const StepTrace& trace, const BlockTableMirror& scheduler,
                          TableReach reach, std::vector<WorkerTableChange>& changes) {
  for (const GroupTrace& group : trace.groups) {
    const TensorView<std::int32_t>& given = group.block_table;
    if (!given.present) continue;
    const auto columns = static_cast<std::size_t>(given.cols);
    const std::size_t num_rows = std::min(trace.rows.size(), static_cast<std::size_t>(given.rows));
    for (std::size_t r = 0; r < num_rows; ++r) {
      const RequestId request = trace.rows[r].request;
      const std::span row(given.data + r * columns, columns);
      std::size_t length = std::min(scheduler.block_ids(request, group.group).size(), columns);
      if (reach == TableReach::whole_row) length = std::max(length, used_columns(row));
      follow_row(request, group.group, row.first(length), row, changes);
    }
  }
}

// `row`: the part that is followed; `whole`: the whole row, for columns that the table had before.
void WorkerTables::follow_row(RequestId request, std::int32_t group,
                              std::span<const std::int32_t> row,
                              std::span<const std::int32_t> whole,
                              std::vector<WorkerTableChange>& changes) {
  std::vector<std::int32_t>& known = table(request, group);
  if (known.size() == row.size() && std::equal(row.begin(), row.end(), known.begin())) return;
  known.resize(std::max(known.size(), row.size()), kUnknown);
  for (std::size_t c = 0; c < std::min(known.size(), whole.size()); ++c) {
    if (known[c] == whole[c]) continue;
    known[c] = whole[c];
    changes.push_back({request, group, static_cast<std::int32_t>(c), whole[c]});
  }
}

void WorkerTables::apply(const WorkerTableChange& change) {
  std::vector<std::int32_t>& ids = table(change.request, change.group);
  const auto column = static_cast<std::size_t>(change.column);
  if (column >= ids.size()) ids.resize(column + 1, kNullBlock);
  ids[column] = change.block;
}

void WorkerTables::set_block_ids(RequestId request, std::int32_t group,
                                 std::span<const std::int32_t> ids) {
  table(request, group).assign(ids.begin(), ids.end());
}

void WorkerTables::drop(RequestId request) {
  for (std::size_t g = 0; g < num_groups_; ++g) {
    const std::size_t index = static_cast<std::size_t>(request.value) * num_groups_ + g;
    if (index < tables_.size()) std::vector<std::int32_t>().swap(tables_[index]);
  }
}

std::span<const std::int32_t> WorkerTables::block_ids(RequestId request, std::int32_t group) const {
  const std::size_t index =
      static_cast<std::size_t>(request.value) * num_groups_ + static_cast<std::size_t>(group);
  if (request.value < 0 || group < 0 || index >= tables_.size()) return {};
  return tables_[index];
}

std::vector<RequestId> WorkerTables::requests() const {
  std::vector<RequestId> result;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const RequestId request{static_cast<std::int32_t>(i / num_groups_)};
    if (!tables_[i].empty() && (result.empty() || result.back() != request))
      result.push_back(request);
  }
  return result;
}

namespace {

std::int32_t num_groups(const EngineConfig& config) {
  return static_cast<std::int32_t>(config.kv_cache_config.groups.size());
}

}  // namespace

StepTables::StepTables(const EngineConfig& config)
    : scheduler_(num_groups(config), config.kv_cache_config.num_blocks),
      worker_(num_groups(config)) {}

void StepTables::apply(std::span<const CacheEvent> events) {
  for (const CacheEvent& event : events) {
    scheduler_.apply(event);
    if (event.kind == CacheEventKind::table_dropped) worker_.drop(event.request);
  }
}

void StepTables::take(const StepTrace& trace, TableReach reach,
                      std::vector<WorkerTableChange>& changes) {
  apply(pending_);
  apply(trace.cache_events);
  worker_.follow(trace, scheduler_, reach, changes);
  pending_.assign(trace.commit_events.begin(), trace.commit_events.end());
}

}  // namespace hybridscope
