// Rebuilds block tables, reference counts and the number of free blocks from a cache event log
// alone, and compares them with the manager that wrote it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/caching/cache_events.h"
#include "core/caching/kv_cache_manager.h"

namespace hybridscope::test {

class EventMirror {
 public:
  explicit EventMirror(std::int32_t num_blocks)
      : ref_cnt_(static_cast<std::size_t>(num_blocks)), num_free_blocks_(num_blocks - 1) {}

  // Applies the events; an event that contradicts the mirror is reported by first_error.
  void apply(const CacheEventLog& log);

  // Empty when the manager's lists of requests 0 .. num_requests-1, its reference counts, hashes
  // and free count equal the mirror's, and the counts equal the number of lists that hold a block.
  std::string first_difference(const KVCacheManager& manager, std::int32_t num_requests) const;

 private:
  using TableKey = std::pair<std::int32_t, std::int32_t>;  // request, group

  void apply(const CacheEvent& event);
  void expect(bool condition, const CacheEvent& event, const std::string& what);
  std::string first_table_difference(const KVCacheManager& manager,
                                     std::int32_t num_requests) const;

  std::map<TableKey, std::vector<std::int32_t>> tables_;
  std::map<std::int32_t, BlockKey> keys_;
  std::vector<std::int32_t> ref_cnt_;
  std::int32_t num_free_blocks_ = 0;
  std::string first_error_;
};

}  // namespace hybridscope::test
