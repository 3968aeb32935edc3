// get_computed_blocks: how long the prefix cache takes to look a prompt up.
#include "bench/core/caching/bench_cache.h"
#include "bench/support/measure.h"
#include "bench/support/model_config.h"

namespace hybridscope::bench {
namespace {

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
