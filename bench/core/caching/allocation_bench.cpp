// Allocation as the scheduler asks for it; pools of qwen3-next-80b-a3b and nemotron-h-8b.
#include <cstddef>
#include <vector>

#include "bench/core/caching/bench_cache.h"
#include "bench/support/measure.h"
#include "bench/support/model_config.h"

namespace hybridscope::bench {
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

}  // namespace
}  // namespace hybridscope::bench
