#include "bench/core/caching/bench_cache.h"

#include <algorithm>

#include "core/base/check.h"

namespace hybridscope::bench {

BenchCache::BenchCache(const EngineConfig& config)
    : block_size_(config.block_size),
      hash_block_size_(config.hash_block_size),
      num_lookahead_tokens_(config.num_speculative_tokens),
      manager_(KVCacheManager::create({.kv_cache_config = config.kv_cache_config,
                                       .max_model_len = config.max_model_len,
                                       .use_eagle = config.num_speculative_tokens > 0,
                                       .scheduler_block_size = config.scheduler_block_size,
                                       .hash_block_size = config.hash_block_size},
                                      nullptr)
                   .value()) {
  manager_.set_event_log(&log_);
}

BenchRequest BenchCache::make_request(std::int32_t id, std::int32_t num_tokens,
                                      std::int32_t shared) const {
  std::vector<TokenContent> tokens(static_cast<std::size_t>(num_tokens));
  for (std::int32_t i = 0; i < num_tokens; ++i)
    tokens[static_cast<std::size_t>(i)] =
        mix(i < shared ? 0 : static_cast<std::uint64_t>(id) + 1, static_cast<std::uint64_t>(i));
  BenchRequest request{.chain = start_block_hashes(hash_block_size_), .view = {}};
  extend_block_hashes(request.chain, tokens);
  request.view = {.id = {id}, .block_hashes = request.chain.block_hashes, .num_tokens = num_tokens};
  return request;
}

void BenchCache::compute(BenchRequest& request, std::int32_t num_new_tokens) {
  const auto allocation = manager_.allocate_slots(
      request.view,
      {.num_new_tokens = num_new_tokens, .num_lookahead_tokens = num_lookahead_tokens_});
  HS_EXPECT(allocation.value().granted());
  request.view.status = RequestStatus::running;
  request.view.num_computed_tokens += num_new_tokens;
}

void BenchCache::compute_to(BenchRequest& request, std::int32_t num_tokens) {
  while (request.view.num_computed_tokens < num_tokens) {
    compute(request, std::min(8 * block_size_, num_tokens - request.view.num_computed_tokens));
    next_step();
  }
}

void BenchCache::next_step() {
  manager_.publish();
  manager_.new_step_starts();
  log_.clear();
}

void BenchCache::free(BenchRequest& request) {
  manager_.free(request.view.id);
  request.view.num_computed_tokens = 0;
  request.view.status = RequestStatus::waiting;
}

}  // namespace hybridscope::bench
