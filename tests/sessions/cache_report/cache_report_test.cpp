#include "sessions/cache_report/cache_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>
#include <vector>

#include "core/engine/engine.h"
#include "core/engine/releases.h"
#include "tests/sessions/cache_report/cache_report_run.h"
#include "tests/support/small_engine.h"

namespace hybridscope::cache_report_test {
namespace {

using test::explain_shipped;
using test::explain_text;
using test::scenario_text;
using testing::ElementsAre;

constexpr const char* kAlign8 = R"("mamba_cache_mode": "align", "block_size": 8)";

// Tokens by reason, in the order of MissReason: caching off, last token, block granularity, eagle
// drop, not yet computed, state missing, evicted.
auto lost(std::int64_t off, std::int64_t last, std::int64_t grid, std::int64_t eagle,
          std::int64_t not_computed, std::int64_t state, std::int64_t evicted) {
  return ElementsAre(off, last, grid, eagle, not_computed, state, evicted);
}

TEST(CacheReport, TheFirstRequestHasNothingInCommon) {
  const auto run = explain_text(scenario_text(kAlign8, R"({"id": "A", "prompt": 20})"));
  const LookupReport& a = run->lookup("A");
  EXPECT_EQ(a.common, (CommonPrefix{0, {}}));
  EXPECT_EQ(a.num_hit_tokens, 0);
  EXPECT_THAT(a.lost, lost(0, 0, 0, 0, 0, 0, 0));
}

// A keeps the state after 8 tokens. B has 12 in common: 8 are a whole block, 4 are not.
TEST(CacheReport, TokensBehindTheLastWholeBlockAreLostToTheGrid) {
  const auto run = explain_text(scenario_text(kAlign8, R"(
      {"id": "A", "prompt": 14},
      {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 12}, "at_step": 3})"));
  const LookupReport& b = run->lookup("B");
  EXPECT_EQ(b.common, (CommonPrefix{12, run->lookup("A").request}));
  EXPECT_EQ(b.num_hit_tokens, 8);
  EXPECT_THAT(b.lost, lost(0, 0, 4, 0, 0, 0, 0));
}

// The same 8 tokens again: only 7 may be served, which is less than a block.
TEST(CacheReport, TheLastTokenOfARepeatedPromptCostsItsWholeBlock) {
  const auto run = explain_text(scenario_text(kAlign8, R"(
      {"id": "A", "prompt": 8},
      {"id": "B", "prompt": {"tokens": 8, "share": "A", "share_tokens": 8}, "at_step": 3})"));
  EXPECT_EQ(run->lookup("B").num_hit_tokens, 0);
  EXPECT_THAT(run->lookup("B").lost, lost(0, 1, 7, 0, 0, 0, 0));
}

// K=1: A's prompt of 20 keeps the state after 16 - 8 = 8 tokens. B has 16 in common; attention has
// both blocks and drops the second.
TEST(CacheReport, ADraftModelCostsAWholeBlock) {
  const auto run = explain_text(scenario_text(
      std::string(kAlign8) + R"(, "speculative_config": {"num_speculative_tokens": 1})", R"(
      {"id": "A", "prompt": 20, "max_tokens": 2},
      {"id": "B", "prompt": {"tokens": 24, "share": "A", "share_tokens": 16}, "at_step": 4})"));
  EXPECT_EQ(run->lookup("B").num_hit_tokens, 8);
  EXPECT_EQ(run->lookup("B").num_possible_tokens, 8);
  EXPECT_THAT(run->lookup("B").lost, lost(0, 0, 0, 8, 0, 0, 0));
}

// A's first chunk goes to token 16, so there is a state after 16 tokens and none after 8.
TEST(CacheReport, AttentionWithoutAStateIsAStateMissing) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_THAT(run->lookup("B").lost, lost(0, 0, 0, 0, 0, 0, 0));
  const LookupReport& c = run->lookup("C");
  EXPECT_THAT(c.lost, lost(0, 0, 0, 0, 0, 8, 0));
  EXPECT_EQ(c.num_computed_tokens, 8);
  EXPECT_EQ(c.last_state, 0);
  EXPECT_EQ(c.next_state, 16);
}

// A's chunks end after 8 and 24 tokens. B has 16 in common: one state before their end, one behind.
TEST(CacheReport, TheStatesAroundTheCommonPrefixAreNamed) {
  const auto run = explain_text(R"({"version": 1, "model": "tiny-mamba2", "settings":
      {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 64,
       "async_scheduling": false}, "requests": [{"id": "A", "prompt": 30},
      {"id": "B", "prompt": {"tokens": 30, "share": "A", "share_tokens": 16}, "at_step": 6}],
      "script": [{"step": 1, "budget": 8}]})");
  const LookupReport& b = run->lookup("B");
  EXPECT_EQ(b.num_hit_tokens, 8);
  EXPECT_THAT(b.lost, lost(0, 0, 0, 0, 0, 8, 0));
  EXPECT_EQ(b.last_state, 8);
  EXPECT_EQ(b.next_state, 24);
}

// Step 8: C repeats A's 9 tokens, whose two blocks of 4 were given to B.
TEST(CacheReport, WhatWasThereAndWasGivenAwayIsEvicted) {
  const auto run = explain_shipped("eviction_under_pressure");
  const LookupReport& c = run->lookup("C");
  EXPECT_THAT(c.lost, lost(0, 1, 0, 0, 0, 0, 8));
  EXPECT_EQ(c.evicted_state.num_tokens, 8);
  EXPECT_EQ(c.evicted_state.by, run->lookup("B").request);
  EXPECT_EQ(c.evicted_state.cause, EvictionCause::allocation);
  EXPECT_LT(c.evicted_state.step, c.step);
  EXPECT_GT(c.evicted_state.step, 0);
}

TEST(CacheReport, AResetIsTheCauseOfWhatItDropped) {
  const auto run = explain_text(R"({"version": 1, "model": "tiny-mamba2", "settings":
      {"mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 64,
       "async_scheduling": false}, "requests": [{"id": "A", "prompt": 8},
      {"id": "B", "prompt": {"tokens": 12, "share": "A", "share_tokens": 8}, "at_step": 5}],
      "script": [{"step": 4, "reset_prefix_cache": true}]})");
  const LookupReport& b = run->lookup("B");
  EXPECT_THAT(b.lost, lost(0, 0, 0, 0, 0, 0, 8));
  EXPECT_EQ(b.evicted_attention.cause, EvictionCause::reset);
  EXPECT_EQ(b.evicted_attention.step, 4);
  EXPECT_EQ(b.evicted_attention.by, RequestId{});
}

// A prompt of 6, one output token a step: in step 6 A has computed 10 tokens, one whole block. B
// goes on where A will have been after 16.
TEST(CacheReport, WhatAnotherRequestHasStillToComputeIsNotComputed) {
  const auto run = explain_text(scenario_text(kAlign8, R"(
      {"id": "A", "prompt": 6, "max_tokens": 14},
      {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 16}, "at_step": 6})"));
  EXPECT_EQ(run->lookup("B").step, 6);
  EXPECT_EQ(run->lookup("B").num_hit_tokens, 8);
  EXPECT_THAT(run->lookup("B").lost, lost(0, 0, 0, 0, 8, 0, 0));
}

TEST(CacheReport, WithoutPrefixCachingEverythingInCommonIsLost) {
  const auto run = explain_text(scenario_text(R"("mamba_cache_mode": "none", "block_size": 8)", R"(
      {"id": "A", "prompt": 20},
      {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 17}, "at_step": 3})"));
  EXPECT_THAT(run->lookup("B").lost, lost(17, 0, 0, 0, 0, 0, 0));
}

TEST(CacheReport, UnequalSaltsHaveNothingInCommon) {
  const auto run = explain_text(scenario_text(kAlign8, R"(
      {"id": "A", "prompt": 20, "cache_salt": 1},
      {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 17}, "at_step": 3})"));
  EXPECT_EQ(run->lookup("B").common.num_tokens, 0);
}

// B is preempted with 13 known tokens and comes back in step 14: a separate lookup, against its
// own earlier run.
TEST(CacheReport, APreemptedRequestIsLookedUpAgain) {
  const auto run = explain_shipped("preemption_and_resume");
  ASSERT_EQ(run->cache().lookups().size(), 3u);
  const LookupReport& b = run->lookup("B");
  EXPECT_EQ(b.admission, Admission::resumed);
  EXPECT_EQ(b.run, 1);
  EXPECT_EQ(b.common, (CommonPrefix{13, b.request}));
  EXPECT_THAT(b.lost, lost(0, 1, 0, 0, 0, 0, 12));
  EXPECT_EQ(run->cache().totals().resumed, 1);
}

// Blocks of 1600 tokens: 1500 tokens in common are less than one, 1600 are one.
TEST(CacheReport, AHundredTokensDecideBetweenAllAndNothing) {
  const auto hits = [](int shared) {
    std::string requests;
    for (int i = 0; i < 6; ++i)
      requests += (i == 0 ? "" : ",") +
                  (R"({"id": "r)" + std::to_string(i) +
                   R"(", "prompt": {"tokens": 2200, "share": "system", "share_tokens": )" +
                   std::to_string(shared) + R"(}, "at_step": )" + std::to_string(1 + 3 * i) + "}");
    const auto run = explain_text(scenario_text(
        R"("mamba_cache_mode": "align", "block_size": 1600, "max_model_len": 4096)", requests));
    EXPECT_EQ(smallest_cacheable_prefix(run->cache().rules()), 1600);
    return run->cache().totals();
  };
  EXPECT_EQ(hits(1500).hit_tokens, 0);
  EXPECT_THAT(hits(1500).lost, lost(0, 0, 5 * 1500, 0, 0, 0, 0));
  EXPECT_EQ(hits(1600).hit_tokens, 5 * 1600);
  EXPECT_THAT(hits(1600).lost, lost(0, 0, 0, 0, 0, 0, 0));
}

TEST(CacheReport, TotalsAreTheSumsOfTheLookups) {
  const auto run = explain_shipped("shared_prefix_align");
  const CacheTotals& totals = run->cache().totals();
  EXPECT_EQ(totals.lookups, 3);
  EXPECT_EQ(totals.tokens, 60);
  EXPECT_EQ(totals.common_tokens, 16 + 8);
  EXPECT_EQ(totals.hit_tokens, 16);
  EXPECT_EQ(totals.lookups_with_common_tokens, 2);
  EXPECT_EQ(totals.lookups_with_hit, 1);
}

// 0.32.0 with interval 16. A's chunk of 32 tokens stores the state after 24 on its way, which is
// neither at the end of its prompt (56) nor on the interval; the state after 16 was never in a
// block of its own.
TEST(CacheReport, ACheckpointThatIsNotKeptIsAStateThatWasThere) {
  test::SmallEngine small;
  small.max_num_batched_tokens = 32;
  small.policies = release_policies(Release::v0_32_0, ModelRunner::v2);
  EngineConfig config = test::engine_config(small);
  config.prefix_cache_retention_interval = 16;
  MambaSpec& mamba = std::get<MambaSpec>(config.kv_cache_config.groups[1].spec);
  mamba.num_prefill_checkpoint_blocks = 1;
  mamba.prefill_checkpoint_alignment = 1;
  Engine engine = Engine::create(config).value();
  const std::vector<AddRequest> requests = {test::request_of(60, 2, 1, 26),
                                            test::request_of(40, 2, 2, 26)};
  CacheReport report(config, [&](RequestId id) -> const AddRequest& {
    return requests[static_cast<std::size_t>(id.value)];
  });
  ASSERT_TRUE(engine.add_request(requests[0]).ok());
  for (int step = 0; step < 4; ++step) report.add(engine.step());
  ASSERT_TRUE(engine.add_request(requests[1]).ok());
  report.add(engine.step());
  const LookupReport& b = report.lookups().back();
  EXPECT_EQ(b.common.num_tokens, 26);
  EXPECT_EQ(b.num_hit_tokens, 0);
  EXPECT_THAT(b.lost, lost(0, 0, 2, 0, 0, 24, 0));
  EXPECT_EQ(
      b.unkept_state,
      (UnkeptState{.num_tokens = 24, .checkpoint = true, .kept = {{KeptFor::prompt_end, 56}}}));
  // With interval 8 the checkpoint is kept.
  config.prefix_cache_retention_interval = 8;
  Engine keeping = Engine::create(config).value();
  CacheReport kept(config, [&](RequestId id) -> const AddRequest& {
    return requests[static_cast<std::size_t>(id.value)];
  });
  ASSERT_TRUE(keeping.add_request(requests[0]).ok());
  for (int step = 0; step < 4; ++step) kept.add(keeping.step());
  ASSERT_TRUE(keeping.add_request(requests[1]).ok());
  kept.add(keeping.step());
  EXPECT_EQ(kept.lookups().back().num_hit_tokens, 24);
}

CacheEvent registration(std::int32_t block, std::int32_t num_tokens, Fingerprint hash) {
  return {.kind = CacheEventKind::registered,
          .group = 1,
          .block = block,
          .num_tokens = num_tokens,
          .block_hash = hash};
}

// Block 3 is registered after 10 and after 12 tokens, and both keys are lost with it.
TEST(BlockHistory, ABlockCanHaveSeveralKeys) {
  BlockHistory history(8);
  history.registered(registration(3, 10, 110), 1);
  history.registered(registration(3, 12, 112), 2);
  EXPECT_TRUE(history.is_there({.block_hash = 110, .group = 1}));
  EXPECT_TRUE(history.is_there({.block_hash = 112, .group = 1}));
  history.evicted({.kind = CacheEventKind::evicted, .group = 1, .block = 3},
                  {.step = 5, .cause = EvictionCause::allocation});
  EXPECT_FALSE(history.is_there({.block_hash = 110, .group = 1}));
  EXPECT_EQ(history.last_eviction({.block_hash = 110, .group = 1}).num_tokens, 10);
  EXPECT_EQ(history.last_eviction({.block_hash = 112, .group = 1}).num_tokens, 12);
  EXPECT_TRUE(history.was_there({.block_hash = 112, .group = 1}, 3));
}

TEST(BlockHistory, OneOfSeveralKeysCanBeWithdrawn) {
  BlockHistory history(8);
  history.registered(registration(3, 10, 110), 1);
  history.registered(registration(3, 12, 112), 2);
  history.withdrawn({.kind = CacheEventKind::withdrawn, .group = 1, .block = 3, .num_tokens = 12},
                    2);
  EXPECT_TRUE(history.is_there({.block_hash = 110, .group = 1}));
  EXPECT_FALSE(history.was_there({.block_hash = 112, .group = 1}, 3));
}

// A chunk's block is registered after 16 tokens and then, in the same step, as the checkpoint after
// 20 that it will hold.
TEST(BlockHistory, AKeyThatAnotherReplacesInItsStepWasNeverThere) {
  BlockHistory history(8);
  history.registered(registration(3, 16, 116), 4);
  history.evicted({.kind = CacheEventKind::evicted, .group = 1, .block = 3},
                  {.step = 4, .cause = EvictionCause::overwritten});
  history.registered(registration(3, 20, 120), 4);
  EXPECT_FALSE(history.was_there({.block_hash = 116, .group = 1}, 5));
  EXPECT_TRUE(history.was_there({.block_hash = 120, .group = 1}, 5));
  EXPECT_EQ(history.last_eviction({.block_hash = 116, .group = 1}).step, 0);
}

TEST(BlockHistory, ACheckpointThatIsNotKeptWasNeverThere) {
  BlockHistory history(8);
  history.registered(registration(3, 24, 124), 4);
  history.evicted({.kind = CacheEventKind::evicted, .group = 1, .block = 3},
                  {.step = 4, .cause = EvictionCause::not_kept});
  EXPECT_FALSE(history.was_there({.block_hash = 124, .group = 1}, 5));
  EXPECT_EQ(history.last_eviction({.block_hash = 124, .group = 1}).step, 0);
}

}  // namespace
}  // namespace hybridscope::cache_report_test
