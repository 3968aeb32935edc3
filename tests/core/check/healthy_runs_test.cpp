// Random runs under the safe policies have no findings: what the checker blames is a fault.
#include <gtest/gtest.h>

#include <random>

#include "tests/core/check/planted.h"

namespace hybridscope::test {
namespace {

using Random = std::mt19937_64;

std::int32_t below(Random& random, std::int32_t limit) {
  return static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(limit));
}

SmallEngine random_engine(Random& random) {
  constexpr MambaCacheMode modes[] = {MambaCacheMode::none, MambaCacheMode::align,
                                      MambaCacheMode::align, MambaCacheMode::all};
  constexpr MambaType types[] = {MambaType::mamba1, MambaType::mamba2, MambaType::gdn_attention};
  SmallEngine small;
  small.mamba_type = types[below(random, 3)];
  small.mode = modes[below(random, small.mamba_type == MambaType::gdn_attention ? 3 : 4)];
  small.num_speculative_tokens = below(random, 4);
  small.block_size = small.num_speculative_tokens + 1 + below(random, 6);
  small.method = below(random, 2) == 0 ? SpeculativeMethod::mtp : SpeculativeMethod::ngram;
  small.num_mamba_groups = 1 + below(random, 3);
  small.max_num_batched_tokens = small.block_size + below(random, 30);
  small.max_num_seqs = 2 + below(random, 7);
  small.max_model_len = 64;
  return small;
}

EngineConfig random_config(Random& random) {
  EngineConfig config = engine_config(random_engine(random));
  config.seed = random();
  config.acceptance_rate = 0.25 * below(random, 5);
  if (below(random, 2) == 0) config.scheduling_policy = SchedulingPolicy::priority;
  if (below(random, 4) == 0) config.cudagraph_mode = CUDAGraphMode::none;
  // Little more than the longest request needs, so that requests are preempted.
  config.kv_cache_config.num_blocks =
      static_cast<std::int32_t>(blocks_one_request_needs(config, 60)) + 2 + below(random, 12);
  return config;
}

void random_command(Random& random, PlantedRun& run) {
  const RequestId request{below(random, run.engine().num_requests())};
  const std::int32_t num_spec = run.engine().config().num_speculative_tokens;
  switch (below(random, 12)) {
    case 0:
      run.apply(PreemptRequest{request});
      break;
    case 1:
      run.apply(AbortRequest{request});
      break;
    case 2:
      run.apply(ResetPrefixCache{below(random, 2) == 0});
      break;
    case 3:
      run.apply(SetStepBudget{below(random, run.engine().config().max_num_batched_tokens)});
      break;
    case 4:
    case 5:
      run.apply(SetAcceptedTokens{request, 1 + below(random, 1 + num_spec)});
      break;
    case 6:
      run.apply(SetDraftTokens{request, below(random, 1 + num_spec)});
      break;
    default:
      break;
  }
}

TEST(HealthyRuns, NothingIsFound) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    PlantedRun run(seed % 2 == 0 ? CheckScope::all : CheckScope::step, random_config(random));
    const std::int32_t num_requests = 2 + below(random, 7);
    for (std::int32_t r = 0; r < num_requests; ++r) {
      const std::int32_t tokens = 1 + below(random, 35);
      AddRequest request =
          request_of(tokens, 1 + below(random, 20), random(), below(random, tokens + 1));
      request.priority = below(random, 3);
      run.add(request);
      for (std::int32_t i = below(random, 4); i > 0; --i) {
        random_command(random, run);
        run.steps(1);
      }
    }
    run.finish();
    ASSERT_TRUE(nothing_found(run.findings())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace hybridscope::test
