// Random runs under the safe policies have no findings: what the checker blames is a fault.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/check/state_mirror.h"
#include "core/check/step_checker.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/policy_table.h"
#include "core/engine/scheduler_policies.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "tests/core/check/checked_runs.h"
#include "tests/core/check/planted.h"
#include "tests/core/engine/engine_scenario.h"
#include "tests/support/small_engine.h"

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

// Random scenarios in bytes: whatever the metadata says, memory holds what symbolic state says,
// under a profile that keeps every state right and under one that corrupts some.

// An engine, its checker, and bytes beside them.
class BytesRun {
 public:
  BytesRun(const EngineScenario& scenario, const DrawnMemory& memory)
      : scenario_(scenario),
        engine_(Engine::create(scenario.config).value()),
        checker_(StepChecker::create(check_config_of(scenario.config, memory)).value()),
        backend_(CpuStateBackend::create(make_state_memory(memory.config, memory.options).value())
                     .value()),
        twin_(StateMirror::create(check_config_of(scenario.config, memory), *backend_).value()) {
    checker_.log_ops();
  }

  bool done() const {
    return next_ == scenario_.commands.size() && engine_.num_unfinished() == 0 &&
           !engine_.has_frame_in_flight();
  }

  // Findings of the bytes.
  std::vector<std::string> step(CheckScope scope) {
    for (; next_ < scenario_.commands.size() && scenario_.commands[next_].step <= num_steps_;
         ++next_)
      (void)engine_.apply(scenario_.commands[next_].command);  // refused: there is no request yet
    const StepTrace& trace = engine_.step();
    ++num_steps_;
    num_errors_ += std::ssize(checker_.check(trace, CheckScope::step));
    num_copies_ += std::ssize(checker_.ops().copies);
    std::vector<std::string> found;
    const std::span<const Finding> findings = twin_.follow(checker_, trace.step, scope).value();
    for (const Finding& finding : findings)
      found.push_back(describe(finding) + " layer " + std::to_string(finding.layer) + " state " +
                      std::to_string(finding.state) + " element " +
                      std::to_string(finding.element));
    return found;
  }

  int num_steps() const { return num_steps_; }
  std::int64_t num_errors() const { return num_errors_; }
  std::int64_t num_copies() const { return num_copies_; }

 private:
  EngineScenario scenario_;
  Engine engine_;
  StepChecker checker_;
  std::unique_ptr<CpuStateBackend> backend_;
  StateMirror twin_;
  std::size_t next_ = 0;
  int num_steps_ = 0;
  std::int64_t num_errors_ = 0;
  std::int64_t num_copies_ = 0;
};

// What the scenarios of a test exercised.
struct Coverage {
  std::int64_t steps = 0;
  std::int64_t copies = 0;
  std::int64_t errors = 0;  // of the metadata
  int v2 = 0;
  int asynchronous = 0;
  int dim_first = 0;
};

class RandomState : public testing::TestWithParam<MambaCacheMode> {
 protected:
  Coverage run(const PolicySet& policies, std::uint64_t seed);
};

Coverage RandomState::run(const PolicySet& policies, std::uint64_t seed) {
  constexpr int kMaxSteps = 120;
  std::mt19937_64 random(seed);
  const Draw in = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  };
  Coverage coverage;
  for (int i = 0; i < 400; ++i) {
    const ScenarioShape shape = draw_shape(GetParam(), in);
    SCOPED_TRACE(testing::Message() << "seed " << seed << " scenario " << i << " " << shape);
    EngineScenario scenario = make_scenario(shape);
    scenario.config.policies = policies;
    const DrawnMemory memory = draw_memory(scenario.config, in);
    coverage.v2 += shape.runner_v2 ? 1 : 0;
    coverage.asynchronous += shape.asynchronous ? 1 : 0;
    coverage.dim_first += memory.options.conv_state_layout == ConvStateLayout::DS ? 1 : 0;
    BytesRun bytes(scenario, memory);
    while (!bytes.done() && bytes.num_steps() < kMaxSteps) {
      const CheckScope scope = bytes.num_steps() % 8 == 7 ? CheckScope::all : CheckScope::step;
      const std::vector<std::string> found = bytes.step(scope);
      EXPECT_EQ(found, std::vector<std::string>());
      if (!found.empty()) return coverage;
    }
    EXPECT_EQ(bytes.step(CheckScope::all), std::vector<std::string>());
    coverage.steps += bytes.num_steps();
    coverage.copies += bytes.num_copies();
    coverage.errors += bytes.num_errors();
  }
  EXPECT_GT(coverage.steps, 4000);
  EXPECT_GT(coverage.v2, 40);
  EXPECT_GT(coverage.asynchronous, 40);
  EXPECT_GT(coverage.dim_first, 40);
  if (GetParam() == MambaCacheMode::none) {
    EXPECT_EQ(coverage.copies, 0);
  }
  if (GetParam() == MambaCacheMode::align) {
    EXPECT_GT(coverage.copies, 1000);
  }
  return coverage;
}

TEST_P(RandomState, HoldsWhatSymbolicStateSaysWhereEveryStateIsRight) {
  const Coverage coverage = run(safe_policies(), 7001);
  // The reference copies nothing in this mode.
  if (GetParam() == MambaCacheMode::all) {
    EXPECT_GT(coverage.copies, 100);
  }
}

TEST_P(RandomState, HoldsWhatSymbolicStateSaysWhereStatesAreWrong) {
  EXPECT_GT(run(reference_policies(), 7002).errors, 500);
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomState,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all),
                         [](const auto& mode) { return mode_name(mode.param); });

// Random scenarios: hashes of memory that follows the decisions are as expected, whether the
// decisions are right or not; and of what a fault changes most is found.

constexpr int kMaxSteps = 120;

struct HashCoverage {
  std::int64_t scenarios = 0;
  std::int64_t told = 0;
  std::int64_t copies = 0;
  std::int64_t findings = 0;
  std::int64_t with_finding = 0;  // scenarios
};

class RandomHashes : public testing::TestWithParam<MambaCacheMode> {
 protected:
  // `fault_at(step)`: the fault of a step.
  template <class FaultAt>
  HashCoverage run(const PolicySet& policies, std::uint64_t seed, int scenarios, FaultAt fault_at) {
    std::mt19937_64 random(seed);
    const Draw in = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
    };
    HashCoverage coverage;
    for (int i = 0; i < scenarios; ++i) {
      const ScenarioShape shape = draw_shape(GetParam(), in);
      SCOPED_TRACE(testing::Message() << "seed " << seed << " scenario " << i << " " << shape);
      EngineScenario scenario = make_scenario(shape);
      scenario.config.policies = policies;
      const DrawnMemory memory = draw_memory(scenario.config, in);
      HashedRun run(scenario.config, check_config_of(scenario.config, memory),
                    make_state_memory(memory.config, memory.options).value(), in(0, 3) > 0);
      std::size_t next = 0;
      std::int64_t found = 0;
      while ((next < scenario.commands.size() || !run.done()) && run.num_steps() < kMaxSteps) {
        for (; next < scenario.commands.size() && scenario.commands[next].step <= run.num_steps();
             ++next)
          run.apply(scenario.commands[next].command);
        for (const Finding& finding : run.step(fault_at(run.num_steps()))) {
          ++found;
          if (expects_nothing_) ADD_FAILURE() << describe(finding);
        }
        if (expects_nothing_ && found > 0) return coverage;
      }
      ++coverage.scenarios;
      coverage.told += run.num_told();
      coverage.copies += run.num_copies();
      coverage.findings += found;
      coverage.with_finding += found > 0 ? 1 : 0;
    }
    return coverage;
  }

  bool expects_nothing_ = true;
};

MemoryFault none(std::int64_t) { return {}; }

TEST_P(RandomHashes, NothingIsFoundWhereEveryStateIsRight) {
  const HashCoverage coverage = run(safe_policies(), 7101, 200, none);
  EXPECT_GT(coverage.told, 20000);
}

TEST_P(RandomHashes, NothingIsFoundWhereDecisionsAreWrongButMemoryFollowsThem) {
  const HashCoverage coverage = run(reference_policies(), 7102, 200, none);
  EXPECT_GT(coverage.told, 20000);
}

TEST_P(RandomHashes, LayersThatDoNotRunAreFound) {
  expects_nothing_ = false;
  const HashCoverage coverage = run(safe_policies(), 7103, 100, [](std::int64_t step) {
    return MemoryFault{.drops_forward = step == 1};
  });
  EXPECT_GT(coverage.with_finding, 90);  // some have no row in that step
}

TEST_P(RandomHashes, CopiesThatDoNotRunAreFound) {
  expects_nothing_ = false;
  const HashCoverage coverage = run(safe_policies(), 7104, 100,
                                    [](std::int64_t) { return MemoryFault{.drops_copies = true}; });
  if (GetParam() == MambaCacheMode::none) {
    EXPECT_EQ(coverage.findings, 0);
  } else {
    EXPECT_GT(coverage.findings, coverage.copies / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, RandomHashes,
                         testing::Values(MambaCacheMode::none, MambaCacheMode::align,
                                         MambaCacheMode::all),
                         [](const auto& mode) { return mode_name(mode.param); });

}  // namespace
}  // namespace hybridscope::test::healthy_runs_test
