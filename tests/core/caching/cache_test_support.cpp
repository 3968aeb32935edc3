#include "tests/core/caching/cache_test_support.h"

#include <utility>

#include "core/base/check.h"

namespace hybridscope::test {

KVCacheGroup full_attention_group(std::int32_t block_size) {
  return {.spec = FullAttentionSpec{.block_size = block_size}, .layers = {}};
}

KVCacheGroup mamba_group(std::int32_t block_size, std::int32_t num_speculative_blocks) {
  MambaSpec spec;
  spec.block_size = block_size;
  spec.mamba_cache_mode = MambaCacheMode::align;
  spec.num_speculative_blocks = num_speculative_blocks;
  return {.spec = spec, .layers = {}};
}

KVCacheManagerConfig config_of(const SmallCache& cache) {
  KVCacheGroup mamba = mamba_group(cache.block_size, cache.num_speculative_blocks);
  std::get<MambaSpec>(mamba.spec).mamba_cache_mode = cache.mamba_cache_mode;
  return {.kv_cache_config = {.num_blocks = cache.num_blocks,
                              .groups = {full_attention_group(cache.block_size), mamba}},
          .max_model_len = cache.max_model_len,
          .enable_caching = cache.enable_caching,
          .use_eagle = cache.use_eagle,
          .scheduler_block_size = cache.block_size,
          .hash_block_size = cache.block_size,
          .watermark = cache.watermark,
          .policies = cache.policies};
}

KVCacheManager manager_of(const SmallCache& cache, CacheEventLog* log) {
  return KVCacheManager::create(config_of(cache), log).value();
}

RequestCacheView TestRequest::view() const {
  return {.id = id,
          .block_hashes = chain.block_hashes,
          .num_tokens = chain.num_tokens,
          .num_computed_tokens = num_computed_tokens,
          .status = status,
          .prompt = {.num_prompt_tokens = num_prompt_tokens,
                     .num_computed_tokens = num_computed_tokens}};
}

void TestRequest::append(std::int32_t num_tokens) {
  for (std::int32_t i = 0; i < num_tokens; ++i) {
    const TokenContent token =
        mix(static_cast<std::uint64_t>(id.value) + 1, static_cast<std::uint64_t>(chain.num_tokens));
    extend_block_hashes(chain, std::span(&token, 1));
  }
}

TestRequest a_request(std::int32_t id, std::int32_t shared, std::int32_t own,
                      std::int32_t hash_block_size) {
  TestRequest request{.id = {id}, .chain = start_block_hashes(hash_block_size)};
  for (std::int32_t i = 0; i < shared; ++i) {
    const auto token = static_cast<TokenContent>(i);
    extend_block_hashes(request.chain, std::span(&token, 1));
  }
  request.append(own);
  request.num_prompt_tokens = shared + own;
  return request;
}

void schedule(KVCacheManager& manager, TestRequest& request, std::int32_t num_new_tokens,
              std::int32_t num_lookahead_tokens) {
  const Result<Allocation> allocation = manager.allocate_slots(
      request.view(),
      {.num_new_tokens = num_new_tokens, .num_lookahead_tokens = num_lookahead_tokens});
  HS_EXPECT(allocation.ok() && allocation.value().granted());
  request.num_computed_tokens += num_new_tokens;
  request.status = RequestStatus::running;
}

Allocation try_admit(KVCacheManager& manager, const TestRequest& request,
                     std::int32_t num_new_tokens) {
  const CacheHit hit = manager.get_computed_blocks(request.view()).value();
  return manager
      .allocate_slots(request.view(), {.num_new_tokens = num_new_tokens,
                                       .num_new_computed_tokens = hit.num_hit_tokens,
                                       .new_computed_blocks = &hit})
      .value();
}

std::vector<std::int32_t> to_vector(std::span<const std::int32_t> values) {
  return {values.begin(), values.end()};
}

}  // namespace hybridscope::test
