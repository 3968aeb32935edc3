// KV-cache configurations of golden/kv_cache_manager.jsonl and cache_hits.jsonl (FORMAT.md 15).
#pragma once

#include "core/caching/kv_cache_manager.h"
#include "tests/support/golden.h"

namespace hybridscope::test {

// Groups, sizes and flags; what a file's config does not have keeps its default.
KVCacheManagerConfig config_from_golden(const Json& config);

}  // namespace hybridscope::test
