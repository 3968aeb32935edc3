#include "storage/schema_v2.h"

namespace hybridscope {

// Nearly all sessions of older files were checked step by step; their digests have version 1.
std::string_view schema_v3_sessions() {
  return R"sql(
ALTER TABLE sessions ADD COLUMN check_scope TEXT NOT NULL DEFAULT 'step'
  CHECK (check_scope IN ('step', 'all'));
ALTER TABLE sessions ADD COLUMN digest_version INTEGER NOT NULL DEFAULT 1;
)sql";
}

// Block tables as they were before a step (storage/keyframe.h). The table has rowids, because blobs
// would make the search tree of its key deep.
std::string_view schema_v2_keyframes() {
  return R"sql(
CREATE TABLE keyframes (
  session INTEGER NOT NULL,
  step INTEGER NOT NULL,
  tables BLOB NOT NULL,
  PRIMARY KEY (session, step),
  FOREIGN KEY (session, step) REFERENCES steps (session, step) ON DELETE CASCADE
) STRICT;
)sql";
}

}  // namespace hybridscope
