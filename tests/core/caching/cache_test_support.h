// Small caches and requests for the tests of core/caching.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/policy_set.h"
#include "core/caching/cache_events.h"
#include "core/caching/kv_cache_manager.h"

namespace hybridscope::test {

// One full-attention and one mamba group with one block size, which is the hash block size too.
struct SmallCache {
  std::int32_t num_blocks = 20;
  std::int32_t block_size = 4;
  MambaCacheMode mamba_cache_mode = MambaCacheMode::align;
  std::int32_t num_speculative_blocks = 0;
  std::int32_t max_model_len = 64;
  bool enable_caching = true;
  bool use_eagle = false;
  double watermark = 0.0;
  PolicySet policies = {};
};

KVCacheManagerConfig config_of(const SmallCache& cache);
KVCacheManager manager_of(const SmallCache& cache, CacheEventLog* log = nullptr);

KVCacheGroup full_attention_group(std::int32_t block_size);
KVCacheGroup mamba_group(std::int32_t block_size, std::int32_t num_speculative_blocks = 0);

// A request whose prompt is `shared` tokens that all requests share, then tokens of no other
// request.
struct TestRequest {
  RequestId id = {};
  BlockHashChain chain = {};
  std::int32_t num_prompt_tokens = 0;
  std::int32_t num_computed_tokens = 0;
  RequestStatus status = RequestStatus::waiting;

  RequestCacheView view() const;
  void append(std::int32_t num_tokens);  // tokens of no other request
};

TestRequest a_request(std::int32_t id, std::int32_t shared, std::int32_t own,
                      std::int32_t hash_block_size = 4);

// Requires: granted. Advances the request's computed tokens; it runs from now on.
void schedule(KVCacheManager& manager, TestRequest& request, std::int32_t num_new_tokens,
              std::int32_t num_lookahead_tokens = 0);

// get_computed_blocks and allocate_slots with the hit; the request is left as it is.
Allocation try_admit(KVCacheManager& manager, const TestRequest& request,
                     std::int32_t num_new_tokens);

std::vector<std::int32_t> to_vector(std::span<const std::int32_t> values);

// Rebuilds block tables, reference counts and the number of free blocks from a cache event log
// alone, and compares them with the manager that wrote it.

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
