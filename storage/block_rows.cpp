#include "storage/block_rows.h"

#include <fmt/core.h>

#include "storage/table_fields.h"

namespace hybridscope {
namespace {

void check_range(const TableCursor& cursor, std::string_view column, std::int32_t value,
                 std::int32_t least, std::int32_t end) {
  if (value < least || value >= end)
    cursor.fail(column, fmt::format("{}, expected {} to {}", value, least, end - 1));
}

}  // namespace

BlockLimits block_limits(const EngineConfig& config) {
  return {.num_groups = static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
          .num_blocks = config.kv_cache_config.num_blocks};
}

TableCursor make_event_cursor(ReadContext& context) {
  return {context,
          "block_events",
          {"ordinal"},
          fields::columns<CacheEvent>({"at_commit"}, fields::kEvent)};
}

BlockEventRow read_block_event(const TableCursor& cursor, const BlockLimits& limits) {
  BlockEventRow row;
  RowFields columns(cursor, 1);
  columns("at_commit", row.at_commit);
  fields::kEvent(row.event, columns);
  const CacheEvent& event = row.event;
  const bool of_table =
      event.kind == CacheEventKind::column_set || event.kind == CacheEventKind::table_dropped;
  check_range(cursor, "block", event.block, 0, limits.num_blocks);
  check_range(cursor, "grp", event.group, of_table ? 0 : -1, limits.num_groups);
  if (!of_table) return row;
  check_range(cursor, "request", event.request.value, 0, cursor.context().num_requests);
  if (event.kind == CacheEventKind::column_set)
    check_range(cursor, "col", event.column, 0, kMaxTableColumns);
  return row;
}

TableCursor make_change_cursor(ReadContext& context) {
  return {context,
          "worker_table_changes",
          {"ordinal"},
          fields::columns<WorkerTableChange>({}, fields::kChange)};
}

WorkerTableChange read_worker_change(const TableCursor& cursor, const BlockLimits& limits) {
  WorkerTableChange change;
  RowFields columns(cursor, 1);
  fields::kChange(change, columns);
  check_range(cursor, "request", change.request.value, 0, cursor.context().num_requests);
  check_range(cursor, "grp", change.group, 0, limits.num_groups);
  check_range(cursor, "col", change.column, 0, kMaxTableColumns);
  return change;
}

}  // namespace hybridscope
