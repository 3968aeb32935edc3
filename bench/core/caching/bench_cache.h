// A KV cache with requests that compute one part after the other, as the scheduler drives them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/caching/block_hash.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"

namespace hybridscope::bench {

struct BenchRequest {
  BlockHashChain chain;
  RequestCacheView view;  // of `chain`
};

class BenchCache {
 public:
  explicit BenchCache(const EngineConfig& config);

  // Request number `id` of `num_tokens` tokens, of which the first `shared` are every request's.
  BenchRequest make_request(std::int32_t id, std::int32_t num_tokens,
                            std::int32_t shared = 0) const;

  // One step in which `request` computes `num_new_tokens`. Requires: the pool holds them.
  void compute(BenchRequest& request, std::int32_t num_new_tokens);

  // The same in chunks of 8 blocks until `num_tokens` are computed.
  void compute_to(BenchRequest& request, std::int32_t num_tokens);

  // Between two steps of one engine: publishes what was planned, drops the events.
  void next_step();

  // Frees the request's blocks; nothing of it is computed any more.
  void free(BenchRequest& request);

  KVCacheManager& manager() { return manager_; }
  std::int32_t block_size() const { return block_size_; }

 private:
  std::int32_t block_size_;
  std::int32_t hash_block_size_;
  std::int32_t num_lookahead_tokens_;
  CacheEventLog log_;
  KVCacheManager manager_;
};

}  // namespace hybridscope::bench
