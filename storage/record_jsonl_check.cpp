// Checks that the parts of a JSON line are consistent, so that its record can be written and read
// again.
#include <fmt/core.h>

#include <utility>
#include <vector>

#include "sessions/text/json_value.h"
#include "storage/record_jsonl.h"

namespace hybridscope {

void RecordJsonlReader::check(const StepRecord& record) const {
  const StepTrace& trace = record.trace;
  std::vector<bool> has_row(trace.scheduled.size(), false);
  for (std::size_t i = 0; i < trace.rows.size(); ++i) {
    const auto& row = trace.rows[i];
    if (row.scheduled < 0 || std::cmp_greater_equal(row.scheduled, trace.scheduled.size()) ||
        trace.scheduled_of(row).request != row.request)
      throw JsonFault(fmt::format("/rows/{}/0", i),
                      fmt::format("{} is not the scheduled entry of this request", row.scheduled));
    if (has_row[static_cast<std::size_t>(row.scheduled)])
      throw JsonFault(fmt::format("/rows/{}/0", i),
                      fmt::format("{} has a row before this one", row.scheduled));
    has_row[static_cast<std::size_t>(row.scheduled)] = true;
  }
  for (const CopyLaunch* launch : {&trace.pre_copies, &trace.post_copies})
    for (std::size_t i = 0; i < launch->copies.size(); ++i) {
      const StateCopyTrace& copy = launch->copies[i];
      const std::string place =
          fmt::format("/{}/{}", launch == &trace.pre_copies ? "pre_copies" : "post_copies", i);
      if (copy.decision < 0 || std::cmp_greater_equal(copy.decision, launch->decisions.size()))
        throw JsonFault(place,
                        fmt::format("decision {} of {}", copy.decision, launch->decisions.size()));
      if (copy.group < 0 || copy.group >= limits_.num_groups)
        throw JsonFault(place, fmt::format("group {} of {}", copy.group, limits_.num_groups));
    }
  for (std::size_t i = 0; i < trace.groups.size(); ++i)
    if (std::cmp_not_equal(trace.groups[i].group, i) ||
        std::cmp_greater_equal(i, limits_.num_groups))
      throw JsonFault(fmt::format("/groups/{}/0", i),
                      fmt::format("group {} of {}", trace.groups[i].group, limits_.num_groups));
  if (level_ != RecordLevel::counts && std::cmp_not_equal(trace.groups.size(), limits_.num_groups))
    throw JsonFault("/groups",
                    fmt::format("{} groups, expected {}", trace.groups.size(), limits_.num_groups));
  for (std::size_t i = 0; i < record.arrays.size(); ++i) {
    const ArrayRecord& array = record.arrays[i];
    if (array.rows < 0 || array.cols < 0 ||
        std::cmp_not_equal(array.values.size(),
                           array.present ? std::int64_t{array.rows} * array.cols : 0))
      throw JsonFault(fmt::format("/arrays/{}", i),
                      fmt::format("{} has {} values for {} x {}", array.name, array.values.size(),
                                  array.rows, array.cols));
  }
  check_blocks(record);
}

void RecordJsonlReader::check_blocks(const StepRecord& record) const {
  const auto in_table = [this](RequestId request, std::int32_t group, std::int32_t column) {
    return request.value >= 0 && group >= 0 && group < limits_.num_groups && column >= 0 &&
           column < kMaxTableColumns;
  };
  for (const auto* events : {&record.trace.cache_events, &record.trace.commit_events})
    for (std::size_t i = 0; i < events->size(); ++i) {
      const CacheEvent& event = (*events)[i];
      const bool set = event.kind == CacheEventKind::column_set;
      const bool of_table = set || event.kind == CacheEventKind::table_dropped;
      if (event.block < 0 || event.block >= limits_.num_blocks || event.group < -1 ||
          event.group >= limits_.num_groups ||
          (of_table && !in_table(event.request, event.group, set ? event.column : 0)))
        throw JsonFault(
            fmt::format("/{}/{}",
                        events == &record.trace.cache_events ? "cache_events" : "commit_events", i),
            fmt::format(
                "request {} group {} column {} block {}: the model has {} groups and {} blocks",
                event.request.value, event.group, event.column, event.block, limits_.num_groups,
                limits_.num_blocks));
    }
  for (std::size_t i = 0; i < record.worker_changes.size(); ++i) {
    const WorkerTableChange& change = record.worker_changes[i];
    if (!in_table(change.request, change.group, change.column))
      throw JsonFault(fmt::format("/worker_changes/{}", i),
                      fmt::format("request {} group {} column {}: no place in a block table",
                                  change.request.value, change.group, change.column));
  }
}

}  // namespace hybridscope
