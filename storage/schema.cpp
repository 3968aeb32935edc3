#include "storage/schema.h"

#include "core/base/check.h"
#include "core/caching/cache_events.h"
#include "storage/schema_v1.h"

namespace hybridscope {
namespace {

// Version 2: block tables as they were before a step (storage/keyframe.h). The table has rowids,
// because blobs would make the search tree of its key deep.
constexpr std::string_view kKeyframes = R"sql(
CREATE TABLE keyframes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  tables BLOB NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
)sql";

// Version 3: how a session's findings and digests were made. Nearly all sessions of older files
// were checked step by step; their digests have version 1.
constexpr std::string_view kChecksOfSessions = R"sql(
ALTER TABLE sessions ADD COLUMN check_scope TEXT NOT NULL DEFAULT 'step'
  CHECK (check_scope IN ('step', 'all'));
ALTER TABLE sessions ADD COLUMN digest_version INTEGER NOT NULL DEFAULT 1;
)sql";

// Version 4: who wrote a block last, and since when it has been the same block, without reading the
// events of other blocks.
constexpr std::string_view kHistoryOfBlocks = R"sql(
DROP INDEX write_events_by_block;
CREATE INDEX write_events_by_content ON write_events (session, block, content, step, place);
CREATE INDEX block_events_by_block ON block_events (session, block, step, ordinal)
  WHERE kind IN (0, 3, 4, 5);
)sql";
// Version 5: what the blocks held before a step (storage/held_blocks.h), so that all blocks of a
// step are known without their history. Of the events by block only the allocations are left to be
// found. And whether decisions are kept that set an accepted count to 1 and copy nothing: level
// blocks lacked them before.
constexpr std::string_view kBlockKeyframes = R"sql(
DROP INDEX block_events_by_block;
CREATE INDEX allocations_by_block ON block_events (session, block, step) WHERE kind = 0;
CREATE TABLE block_keyframes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  blocks BLOB NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
ALTER TABLE sessions ADD COLUMN keeps_count_resets INTEGER NOT NULL DEFAULT 0
  CHECK (keeps_count_resets IN (0, 1));
)sql";
static_assert(static_cast<int>(CacheEventKind::allocated) == 0);

}  // namespace

std::vector<SchemaStep> schema_steps() {
  std::vector<SchemaStep> steps;
  steps.push_back({.sql = {schema_v1_steps(), schema_v1_blocks(), schema_v1_views()}});
  steps.push_back({.sql = {kKeyframes}});
  steps.push_back({.sql = {kChecksOfSessions}});
  steps.push_back({.sql = {kHistoryOfBlocks}});
  steps.push_back({.sql = {kBlockKeyframes}});
  HS_EXPECT(steps.size() == static_cast<std::size_t>(kSchemaVersion));
  return steps;
}

}  // namespace hybridscope
