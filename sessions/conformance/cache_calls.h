// Answers the calls of kv_cache_manager vectors on one KVCacheManager.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/caching/block_hash.h"
#include "core/caching/kv_cache_manager.h"
#include "sessions/conformance/vector_value.h"

namespace hybridscope {

// Block ids of a hit per group; the tokens of it that another group has beyond it, or null.
nlohmann::json hit_blocks_json(const CacheHit& hit);
nlohmann::json uncached_json(const CacheHit& hit);

class CacheCalls {
 public:
  CacheCalls(KVCacheManager manager, std::int32_t hash_block_size)
      : manager_(std::move(manager)), hash_block_size_(hash_block_size) {}

  // The call's result, with the parts of the pool's state that changed since the last one.
  nlohmann::json answer(const VectorValue& call);

 private:
  struct Request {
    RequestId id;
    BlockHashChain hashes;
    std::int32_t num_prompt_tokens = 0;
  };

  nlohmann::json run(const VectorValue& call);
  nlohmann::json add_request(const VectorValue& call);
  nlohmann::json get_computed_blocks(const VectorValue& call);
  nlohmann::json allocate_slots(const VectorValue& call);
  nlohmann::json append_output_token_ids(const VectorValue& call);
  nlohmann::json evict_blocks(const VectorValue& call);

  Request& request_of(const VectorValue& call);
  RequestCacheView view_of(const VectorValue& call);
  nlohmann::json blocks_json(RequestId request, std::int32_t group,
                             std::int32_t first_column) const;
  void add_changed_pool_state(nlohmann::json& result);

  KVCacheManager manager_;
  std::int32_t hash_block_size_;
  std::map<std::string, Request> requests_;
  CacheHit last_hit_;  // of the last get_computed_blocks
  nlohmann::json pool_state_ = nlohmann::json::object();
};

}  // namespace hybridscope
