#include "storage/schema_v2.h"

namespace hybridscope {

// Block tables as a step found them (storage/keyframe.h). A table with rowids, as blobs would make
// the search tree of its key a deep one.
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
