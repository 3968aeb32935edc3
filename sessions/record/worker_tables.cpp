#include "sessions/record/worker_tables.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope {
namespace {

// A column of a table that was never told.
constexpr std::int32_t kUnknown = -2;

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
                          std::vector<WorkerTableChange>& changes) {
  for (const GroupTrace& group : trace.groups) {
    const TensorView<std::int32_t>& told = group.block_table;
    if (!told.present) continue;
    const auto num_rows =
        std::min<std::size_t>(trace.rows.size(), static_cast<std::size_t>(told.rows));
    for (std::size_t r = 0; r < num_rows; ++r) {
      const RequestId request = trace.rows[r].request;
      const std::size_t columns = std::min(scheduler.block_ids(request, group.group).size(),
                                           static_cast<std::size_t>(told.cols));
      const std::int32_t* row = told.data + static_cast<std::int64_t>(r) * told.cols;
      std::vector<std::int32_t>& known = table(request, group.group);
      if (known.size() == columns && std::equal(row, row + columns, known.begin())) continue;
      known.resize(columns, kUnknown);
      for (std::size_t c = 0; c < columns; ++c) {
        if (known[c] == row[c]) continue;
        known[c] = row[c];
        changes.push_back({request, group.group, static_cast<std::int32_t>(c), row[c]});
      }
    }
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

}  // namespace hybridscope
