#include "storage/schema.h"

#include "core/base/check.h"
#include "storage/schema_v1.h"
#include "storage/schema_v2.h"

namespace hybridscope {

std::vector<SchemaStep> schema_steps() {
  std::vector<SchemaStep> steps;
  steps.push_back({.sql = {schema_v1_steps(), schema_v1_blocks(), schema_v1_views()}});
  steps.push_back({.sql = {schema_v2_keyframes()}});
  steps.push_back({.sql = {schema_v3_sessions()}});
  HS_EXPECT(steps.size() == static_cast<std::size_t>(kSchemaVersion));
  return steps;
}

}  // namespace hybridscope
