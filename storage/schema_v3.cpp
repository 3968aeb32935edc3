#include "storage/schema_v3.h"

namespace hybridscope {

// Sessions of older files were nearly always checked step by step; their digests are version 1.
std::string_view schema_v3_sessions() {
  return R"sql(
ALTER TABLE sessions ADD COLUMN check_scope TEXT NOT NULL DEFAULT 'step'
  CHECK (check_scope IN ('step', 'all'));
ALTER TABLE sessions ADD COLUMN digest_version INTEGER NOT NULL DEFAULT 1;
)sql";
}

}  // namespace hybridscope
