// Random runs under the safe policies have no findings: what the checker blames is a fault.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/mamba_manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/scheduler_policies.h"
#include "tests/core/check/planted.h"
#include "tests/core/check/random_runs.h"

namespace hybridscope::test::healthy_runs_test {
namespace {

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

// What happened in all runs together, so that they are no empty proof.
struct Seen {
  std::int64_t preempted = 0;
  std::int64_t hits = 0;
  std::int64_t post_copies = 0;
  std::int64_t padding_rows = 0;
  std::int64_t evicted = 0;

  void look(const StepTrace& trace) {
    preempted += static_cast<std::int64_t>(trace.preempted.size());
    for (const ScheduledTrace& scheduled : trace.scheduled) hits += scheduled.num_hit_tokens > 0;
    post_copies += static_cast<std::int64_t>(trace.post_copies.copies.size());
    padding_rows += trace.common.num_reqs - static_cast<std::int64_t>(trace.rows.size());
    evicted += std::ranges::count(trace.cache_events, CacheEventKind::evicted, &CacheEvent::kind);
  }
};

TEST(HealthyRuns, NothingIsFound) {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    PlantedRun run(seed % 2 == 0 ? CheckScope::all : CheckScope::step, random_config(random));
    const std::int32_t num_requests = 2 + below(random, 7);
    for (std::int32_t r = 0; r < num_requests; ++r) {
      run.add(random_request(random));
      for (std::int32_t i = below(random, 4); i > 0; --i) {
        random_command(random, run);
        run.step([&](StepTrace& trace, OwnedArrays&) { seen.look(trace); });
      }
    }
    run.finish();
    ASSERT_TRUE(nothing_found(run.findings())) << "seed " << seed;
  }
  EXPECT_GT(seen.preempted, 100);
  EXPECT_GT(seen.hits, 100);
  EXPECT_GT(seen.post_copies, 100);
  EXPECT_GT(seen.padding_rows, 10);
  EXPECT_GT(seen.evicted, 100);
}

// What the newest release does with prompts and hits, its known faults left out.
void use_hits_inside_blocks(Random& random, EngineConfig& config) {
  PolicySet& cache = config.policies;
  cache.set(HitsInsideBlocks::with_smaller_hash_blocks);
  cache.set(PromptTailKey::at_replay_position_once);
  cache.set(EagleMargin::hash_block_to_the_last_hash);
  cache.set(SkippedBasis::processed);
  cache.set(StateRetirement::passes_nulls);
  cache.set(EmptyAllocation::noted);
  if (below(random, 2) == 0) cache.set(EagleProof::look_ahead_hashes);
  if (below(random, 2) == 0) cache.set(BlockRegistration::at_allocation);
  config.policies.set(AlignedSplit::stops_before_the_last_token);
  config.policies.set(StoppedTokens::taken_back);
  config.policies.set(CommitRegistration::asynchronous_or_drafts);
  if (below(random, 2) == 0) config.policies.set(StaleFrame::drained_by_scheduled_tokens);
}

SmallEngine engine_with_wide_blocks(Random& random) {
  SmallEngine small = random_engine(random);
  small.mode = MambaCacheMode::align;
  small.num_speculative_tokens = below(random, 3);
  small.block_size = 8;
  small.max_num_batched_tokens = 8 + below(random, 30);
  return small;
}

TEST(HealthyRuns, HitsInsideBlocks) {
  std::int64_t partial_hits = 0;
  std::int64_t copies = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    EngineConfig config = engine_config(engine_with_wide_blocks(random));
    config.hash_block_size = 1 << below(random, 3);
    config.seed = random();
    config.async_scheduling = below(random, 2) == 0;
    use_hits_inside_blocks(random, config);
    config.kv_cache_config.num_blocks =
        static_cast<std::int32_t>(blocks_one_request_needs(config, 60)) + 6 + below(random, 20);
    PlantedRun run(CheckScope::all, config);
    const std::int32_t num_requests = 2 + below(random, 7);
    for (std::int32_t r = 0; r < num_requests; ++r) {
      run.add(random_request(random));
      for (std::int32_t i = below(random, 4); i > 0; --i) {
        random_command(random, run);
        run.step([&](StepTrace& trace, OwnedArrays&) {
          for (const ScheduledTrace& scheduled : trace.scheduled)
            partial_hits += scheduled.num_hit_tokens % 8 != 0;
          copies += std::ssize(block_copies_of(trace.cache_events));
        });
      }
    }
    run.finish();
    ASSERT_TRUE(nothing_found(run.findings())) << "seed " << seed;
  }
  EXPECT_GT(partial_hits, 50);
  EXPECT_GT(copies, 100);
}

}  // namespace
}  // namespace hybridscope::test::healthy_runs_test
