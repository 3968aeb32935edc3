// Rows that change block tables, checked so that tables can take them over.
#pragma once

#include <cstdint>

#include "core/caching/cache_events.h"
#include "core/engine/engine_config.h"
#include "sessions/record/step_record.h"
#include "storage/table_cursor.h"

namespace hybridscope {

// Far more columns than any block table has; keeps a damaged file from asking for all memory.
inline constexpr std::int32_t kMaxTableColumns = 1 << 22;

// What block tables of a session have room for.
struct BlockLimits {
  std::int32_t num_groups = 0;
  std::int32_t num_blocks = 0;
};
BlockLimits block_limits(const EngineConfig& config);

struct BlockEventRow {
  bool at_commit = false;
  CacheEvent event;
};

// Requires: at_row(). Errors go to the cursor's context; what was read must not be used then.
TableCursor make_event_cursor(ReadContext& context);
BlockEventRow read_block_event(const TableCursor& cursor, const BlockLimits& limits);
TableCursor make_change_cursor(ReadContext& context);
WorkerTableChange read_worker_change(const TableCursor& cursor, const BlockLimits& limits);

}  // namespace hybridscope
