// Allocation of blocks as the scheduler asks for it, and lookups in the prefix cache; pools of
// qwen3-next-80b-a3b and nemotron-h-8b.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/support/bench_engines.h"
#include "bench/support/measure.h"
#include "core/base/result.h"
#include "core/caching/block_hash.h"
#include "core/caching/kv_cache_manager.h"
#include "core/engine/engine_config.h"

namespace hybridscope::bench {

// A KV cache with requests that compute one part after the other, as the scheduler drives them.

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

namespace {

// Every request of a batch decodes 1 + K tokens a step, from its second block on for 4 blocks.
class DecodeSteps {
 public:
  DecodeSteps(const EngineConfig& config, std::int32_t num_requests)
      : cache_(config), tokens_a_step_(1 + config.num_speculative_tokens) {
    for (std::int32_t id = 0; id < num_requests; ++id)
      requests_.push_back(cache_.make_request(id, 6 * cache_.block_size()));
    renew();
  }

  void step() {
    for (BenchRequest& request : requests_) cache_.compute(request, tokens_a_step_);
    cache_.next_step();
  }
  bool worn_out() const {
    return requests_.front().view.num_computed_tokens > 5 * cache_.block_size();
  }
  void renew() {
    for (BenchRequest& request : requests_) cache_.free(request);
    HS_EXPECT(cache_.manager().reset_prefix_cache());
    // They reach the ends of blocks in different steps.
    for (std::size_t i = 0; i < requests_.size(); ++i)
      cache_.compute_to(requests_[i], cache_.block_size() + static_cast<std::int32_t>(i));
  }

 private:
  BenchCache cache_;
  std::int32_t tokens_a_step_;
  std::vector<BenchRequest> requests_;
};

void allocate_slots_decode_step(benchmark::State& state, const char* preset,
                                std::int32_t num_spec) {
  DecodeSteps world(model_config(preset, num_spec), 256);
  measure_steps(state, 256, world);
}
BENCHMARK_CAPTURE(allocate_slots_decode_step, qwen3_next_K2_256_requests, "qwen3-next-80b-a3b", 2);
BENCHMARK_CAPTURE(allocate_slots_decode_step, nemotron_h_K0_256_requests, "nemotron-h-8b", 0);

// One long prompt, a chunk of 8 blocks a step.
class PrefillChunks {
 public:
  explicit PrefillChunks(const EngineConfig& config)
      : cache_(config), request_(cache_.make_request(0, 128 * cache_.block_size())) {}

  void step() {
    cache_.compute(request_, 8 * cache_.block_size());
    cache_.next_step();
  }
  bool worn_out() const { return request_.view.num_computed_tokens == request_.view.num_tokens; }
  void renew() {
    cache_.free(request_);
    HS_EXPECT(cache_.manager().reset_prefix_cache());
  }

 private:
  BenchCache cache_;
  BenchRequest request_;
};

void allocate_slots_prefill_chunk(benchmark::State& state, const char* preset,
                                  std::int32_t num_spec) {
  PrefillChunks world(model_config(preset, num_spec));
  measure_steps(state, 1, world);
}
BENCHMARK_CAPTURE(allocate_slots_prefill_chunk, qwen3_next_K2_8_blocks, "qwen3-next-80b-a3b", 2);
BENCHMARK_CAPTURE(allocate_slots_prefill_chunk, nemotron_h_K0_8_blocks, "nemotron-h-8b", 0);

// Requests with 64 blocks in each attention group, freed one a step.
class Frees {
 public:
  explicit Frees(const EngineConfig& config) : cache_(config) {
    for (std::int32_t id = 0; id < 64; ++id)
      requests_.push_back(cache_.make_request(id, 64 * cache_.block_size()));
    renew();
  }

  void step() { cache_.free(requests_[--num_held_]); }
  bool worn_out() const { return num_held_ == 0; }
  void renew() {
    HS_EXPECT(cache_.manager().reset_prefix_cache());
    for (BenchRequest& request : requests_) cache_.compute_to(request, request.view.num_tokens);
    num_held_ = requests_.size();
  }

 private:
  BenchCache cache_;
  std::vector<BenchRequest> requests_;
  std::size_t num_held_ = 0;
};

void free_request(benchmark::State& state, const char* preset) {
  Frees world(model_config(preset, 0));
  measure_steps(state, 1, world);
}
BENCHMARK_CAPTURE(free_request, qwen3_next_K0_64_blocks, "qwen3-next-80b-a3b");

// get_computed_blocks: how long the prefix cache takes to look a prompt up.

// The cache holds a prompt of `num_blocks` blocks; the one looked up begins with `num_shared`
// blocks of it.
struct LookupCase {
  const char* preset;
  std::int32_t num_blocks;
  std::int32_t num_shared;
};

void get_computed_blocks(benchmark::State& state, const LookupCase& lookup) {
  BenchCache cache(model_config(lookup.preset, 0));
  const std::int32_t num_tokens = lookup.num_blocks * cache.block_size() + 1;
  BenchRequest stored = cache.make_request(0, num_tokens, num_tokens);
  cache.compute_to(stored, num_tokens);
  const BenchRequest asked =
      cache.make_request(1, num_tokens, lookup.num_shared * cache.block_size());
  measure(state, 1, [&] { return cache.manager().get_computed_blocks(asked.view); });
}
constexpr const char* kQwen = "qwen3-next-80b-a3b";
constexpr const char* kNemotron = "nemotron-h-8b";
BENCHMARK_CAPTURE(get_computed_blocks, qwen3_next_hit_of_16_blocks, {kQwen, 16, 16});
BENCHMARK_CAPTURE(get_computed_blocks, qwen3_next_miss_of_16_blocks, {kQwen, 16, 0});
BENCHMARK_CAPTURE(get_computed_blocks, qwen3_next_hit_of_256_blocks, {kQwen, 256, 256});
BENCHMARK_CAPTURE(get_computed_blocks, qwen3_next_200_of_256_blocks, {kQwen, 256, 200});
BENCHMARK_CAPTURE(get_computed_blocks, nemotron_h_hit_of_16_blocks, {kNemotron, 16, 16});
BENCHMARK_CAPTURE(get_computed_blocks, nemotron_h_miss_of_16_blocks, {kNemotron, 16, 0});

}  // namespace

}  // namespace hybridscope::bench
