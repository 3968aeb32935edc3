#include "storage/schema.h"

#include "core/base/check.h"
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

}  // namespace

std::vector<SchemaStep> schema_steps() {
  std::vector<SchemaStep> steps;
  steps.push_back({.sql = {schema_v1_steps(), schema_v1_blocks(), schema_v1_views()}});
  steps.push_back({.sql = {kKeyframes}});
  steps.push_back({.sql = {kChecksOfSessions}});
  HS_EXPECT(steps.size() == static_cast<std::size_t>(kSchemaVersion));
  return steps;
}

}  // namespace hybridscope
