// States that a prefill stores inside itself: the step writes what the scheduler registered, a
// second request starts from it, and random runs have no finding (semantics: prefill-checkpoint).
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/caching/manager_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/scheduler_policies.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/run/step_judge.h"
#include "tests/core/check/checked_runs.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::prefill_checkpoints_test {
namespace {

// The layers of every recurrent group store states at multiples of `alignment` tokens of a chunk.
void let_layers_checkpoint(EngineConfig& config, std::int32_t alignment) {
  for (KVCacheGroup& group : config.kv_cache_config.groups)
    if (auto* mamba = std::get_if<MambaSpec>(&group.spec)) {
      mamba->num_prefill_checkpoint_blocks = 1;
      mamba->prefill_checkpoint_alignment = alignment;
    }
  config.policies.set(PrefillCheckpoint::as_states_retained);
  config.policies.set(AlignedSplit::stops_before_the_last_token);
}

// Blocks of 8 tokens; only states where hits end stay cached.
EngineConfig checkpointing(MambaType type) {
  EngineConfig config = engine_config({.mamba_type = type});
  config.prefix_cache_retention_interval = 0;
  let_layers_checkpoint(config, type == MambaType::gdn_attention ? 8 : 1);
  return config;
}

class StoredInsideAPrefill : public ::testing::TestWithParam<MambaType> {};

// A's 30 tokens run in one chunk: blocks 1 to 4 hold keys and values, block 5 the state after 24
// tokens in column 2, block 6 the running state. B repeats 26 of them.
TEST_P(StoredInsideAPrefill, ASecondRequestStartsFromIt) {
  const EngineConfig config = checkpointing(GetParam());
  const auto backend =
      CpuStateBackend::create(make_state_memory(config.kv_cache_config, {}).value()).value();
  PlantedRun run(CheckScope::all, config);
  run.keep_state_in(*backend);
  run.add(request_of(30, 4, 1, 26));
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.scheduled[0].num_scheduled_tokens, 30);
    EXPECT_EQ(trace.scheduled[0].checkpoint_position, 24);
    EXPECT_EQ(trace.scheduled[0].checkpoint_column, 2);
  });
  run.add(request_of(30, 4, 2, 26));
  run.step(
      [](StepTrace& trace, OwnedArrays&) { EXPECT_EQ(trace.scheduled.at(1).num_hit_tokens, 24); });
  run.finish();
  EXPECT_TRUE(nothing_found(run.findings()));
}

// The layers get no place for the state although the scheduler has published it.
TEST_P(StoredInsideAPrefill, AStateThatIsNotWrittenIsFound) {
  PlantedRun run(CheckScope::step, checkpointing(GetParam()));
  run.add(request_of(30, 4, 1));
  run.step([](StepTrace& trace, OwnedArrays&) {
    if (GetParam() == MambaType::mamba2)
      mamba2_of(trace).checkpoint_meta = {};
    else
      gdn_of(trace).checkpoint = {};
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::published_not_written,
                                           .step = 1,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .block = 5,
                                           .expected = 24},
                                          {.rule = Rule::published_not_written,
                                           .step = 1,
                                           .group = 1,
                                           .content = ContentKind::conv,
                                           .block = 5,
                                           .expected = 24}}));
}

// The state after another number of tokens was written: it is there, but it is the wrong one.
TEST_P(StoredInsideAPrefill, AnotherStateIsALabelMismatch) {
  PlantedRun run(CheckScope::step, checkpointing(GetParam()));
  run.add(request_of(30, 4, 1));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    auto& offsets = GetParam() == MambaType::mamba2
                        ? mamba2_of(trace).checkpoint_meta.checkpoint_offsets
                        : gdn_of(trace).checkpoint.checkpoint_offsets;
    EXPECT_EQ(arrays.edit(offsets)[0], 24);
    arrays.edit(offsets)[0] = 16;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::label_mismatch,
                                     .content = ContentKind::temporal,
                                     .block = 5,
                                     .expected = 24,
                                     .seen = 16}));
}

INSTANTIATE_TEST_SUITE_P(Layers, StoredInsideAPrefill,
                         testing::Values(MambaType::mamba2, MambaType::gdn_attention),
                         [](const auto& type) {
                           return type.param == MambaType::mamba2 ? "Mamba2" : "GatedDeltaNet";
                         });

TEST(PrefillCheckpoints, TheScanTakesTheChunkThatEndsOnTheState) {
  PlantedRun run(CheckScope::step, checkpointing(MambaType::mamba2));
  run.add(request_of(30, 4, 1));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    EXPECT_EQ(arrays.edit(mamba2_of(trace).checkpoint_chunk_idx)[0], 2);  // chunks of 8 tokens
    arrays.edit(mamba2_of(trace).checkpoint_chunk_idx)[0] = 1;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::metadata_inconsistent,
                                           .row = 0,
                                           .group = 1,
                                           .expected = 2,
                                           .seen = 1,
                                           .detail = "checkpoint_chunk_idx"}}));
}

TEST(PrefillCheckpoints, AStateOutsideTheRowIsFound) {
  PlantedRun run(CheckScope::step, checkpointing(MambaType::gdn_attention));
  run.add(request_of(30, 4, 1));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(gdn_of(trace).checkpoint.checkpoint_offsets)[0] = 30;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .request = 0,
                                     .row = 0,
                                     .group = 1,
                                     .column = 2,
                                     .expected = 30,
                                     .seen = 30}));
}

// A's 60 tokens run in chunks of 8, 16 and the rest. In step 2 the block of column 1, which was for
// a draft, becomes the running block of column 2, and no state is reserved for column 1.
std::vector<Finding> findings_of_three_chunks(CheckpointWrites writes) {
  EngineConfig config = engine_config({.num_speculative_tokens = 1});
  config.prefix_cache_retention_interval = 0;
  let_layers_checkpoint(config, 1);
  config.policies.set(writes);
  PlantedRun run(CheckScope::step, config);
  run.add(request_of(60, 4, 1));
  run.apply(SetStepBudget{8}).steps(1).apply(SetStepBudget{16}).steps(2);
  return {run.findings().begin(), run.findings().end()};
}

TEST(PrefillCheckpoints, AStateThatNobodyReservedSpoilsTheRunningBlock) {
  EXPECT_TRUE(nothing_found(findings_of_three_chunks(CheckpointWrites::reserved)));
  const std::vector<Finding> findings =
      findings_of_three_chunks(CheckpointWrites::every_valid_chunk);
  EXPECT_TRUE(found(findings, {.rule = Rule::foreign_write, .step = 2, .column = 1}));
  EXPECT_TRUE(found(findings, {.rule = Rule::running_state_wrong,
                               .step = 3,
                               .content = ContentKind::conv,
                               .expected = 24,
                               .seen = 16}));
}

// What the newest release does with prompts and hits, its known faults left out, and every setting
// that decides which states stay.
EngineConfig random_config(Random& random) {
  SmallEngine small = random_engine(random);
  small.mode = MambaCacheMode::align;
  small.mamba_type = below(random, 2) == 0 ? MambaType::mamba2 : MambaType::gdn_attention;
  small.num_speculative_tokens = below(random, 4);
  small.block_size = 4 << below(random, 2);
  if (small.num_speculative_tokens >= small.block_size) small.num_speculative_tokens = 1;
  small.max_num_batched_tokens = small.block_size + below(random, 40);
  EngineConfig config = engine_config(small);
  config.seed = random();
  config.async_scheduling = below(random, 2) == 0;
  config.runner = below(random, 2) == 0 ? ModelRunner::v1 : ModelRunner::v2;
  if (config.runner == ModelRunner::v2 && config.speculative_method == SpeculativeMethod::ngram)
    config.speculative_method = SpeculativeMethod::mtp;
  if (config.speculative_method == SpeculativeMethod::ngram) config.async_scheduling = false;
  if (const std::int32_t blocks = below(random, 4); blocks < 3)
    config.prefix_cache_retention_interval = blocks * small.block_size;
  PolicySet& cache = config.policies;
  if (below(random, 2) == 0) {
    cache.set(SkippedBasis::processed);
    cache.set(StateRetirement::passes_nulls);
    cache.set(EmptyAllocation::noted);
    config.policies.set(StoppedTokens::taken_back);
    config.policies.set(CommitRegistration::asynchronous_or_drafts);
    config.policies.set(StaleFrame::drained_by_scheduled_tokens);
  }
  if (below(random, 2) == 0) cache.set(EagleProof::look_ahead_hashes);
  let_layers_checkpoint(config, small.mamba_type == MambaType::mamba2 ? 1 : small.block_size);
  if (below(random, 3) == 0) config.policies.set(AlignedSplit::every_chunk_on_grid);
  config.kv_cache_config.num_blocks =
      static_cast<std::int32_t>(blocks_one_request_needs(config, 60)) + 8 + below(random, 24);
  return config;
}

TEST(PrefillCheckpoints, RandomRunsAreHealthy) {
  std::int64_t stored = 0;
  std::int64_t hits = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    Random random(seed);
    const EngineConfig config = random_config(random);
    PlantedRun run(CheckScope::all, config);
    const auto look = [&](StepTrace& trace, OwnedArrays&) {
      for (const ScheduledTrace& scheduled : trace.scheduled) {
        stored += scheduled.checkpoint_position > 0;
        hits += scheduled.num_hit_tokens > 0;
      }
    };
    const std::int32_t num_requests = 2 + below(random, 6);
    for (std::int32_t r = 0; r < num_requests; ++r) {
      run.add(random_request(random));
      for (std::int32_t i = below(random, 4); i > 0; --i) {
        random_command(random, run);
        run.step(look);
      }
    }
    run.finish();
    ASSERT_TRUE(nothing_found(run.findings())) << "seed " << seed;
  }
  EXPECT_GT(stored, 100);
  EXPECT_GT(hits, 250);
}

}  // namespace
}  // namespace hybridscope::test::prefill_checkpoints_test
