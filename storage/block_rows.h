// Reads rows that change block tables, and checks them so that they can be applied.
#pragma once

#include <cstdint>

#include "core/caching/cache_events.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// Far more columns than any block table has; keeps a damaged file from causing huge allocations.
inline constexpr std::int32_t kMaxTableColumns = 1 << 22;

// The sizes of a session's block tables.
struct BlockLimits {
  std::int32_t num_groups = 0;
  std::int32_t num_blocks = 0;
};
BlockLimits block_limits(const EngineConfig& config);

struct BlockEventRow {
  bool at_commit = false;
  CacheEvent event;
};

// Requires: at_row(). Errors go to the cursor's context; the result must not be used then.
TableCursor make_event_cursor(ReadContext& context);
BlockEventRow read_block_event(const TableCursor& cursor, const BlockLimits& limits);
TableCursor make_change_cursor(ReadContext& context);
WorkerTableChange read_worker_change(const TableCursor& cursor, const BlockLimits& limits);

}  // namespace hybridscope
