// The naive engine on scenarios worked out by hand: known bugs with the safe rule off (what the
// reference does) and on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/naive_bench.h"
#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_engine_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// q of every scheduled request.
std::map<int, int> tokens_of(const NaiveStep& step) {
  std::map<int, int> result;
  for (const NaiveScheduled& entry : step.scheduled)
    result[entry.request] = entry.num_scheduled_tokens;
  return result;
}

TEST(NaiveEngine, FullAcceptanceOntoTheBoundaryShiftsInsideTheBlock) {
  Bench bench;
  bench.config.num_speculative_tokens = 1;
  bench.config.use_eagle = true;
  bench.accepted[0] = 2;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(6), .max_tokens = 10});
  EXPECT_THAT(engine.step().copies, IsEmpty());
  const NaiveStep verify = engine.step();  // c 6 -> 8
  EXPECT_THAT(verify.copies, ElementsAre(NaiveCopy{NaiveCopyKind::post, 0, 0, 0, 1}));
  EXPECT_THAT(verify.violations, IsEmpty());
  EXPECT_THAT(verify.hashed, IsEmpty());
  const NaiveStep next = engine.step();  // registers both blocks of 8 tokens
  EXPECT_THAT(next.copies, ElementsAre(NaiveCopy{NaiveCopyKind::pre, 0, 0, 1, 0}));
  EXPECT_THAT(next.violations, IsEmpty());
  EXPECT_EQ(next.hashed.size(), 2u);
}

TEST(NaiveEngine, BackwardPostCopyFillsTheBoundarySnapshot) {  // backward-copy-suppressed
  Bench bench;
  bench.config.block_size = 16;
  bench.config.num_speculative_tokens = 3;
  bench.accepted[0] = 3;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(14), .max_tokens = 20});
  engine.step();
  const NaiveStep verify = engine.step();  // c 14 -> 17, boundary 16
  EXPECT_THAT(verify.copies, ElementsAre(NaiveCopy{NaiveCopyKind::pre, 0, 0, 1, 0},
                                         NaiveCopy{NaiveCopyKind::post, 0, 1, 0, 1}));
  EXPECT_THAT(engine.step().violations, IsEmpty());
}

TEST(NaiveEngine, RowWithoutDraftsReadsTheAcceptedColumn) {  // known bug 7
  Bench bench;
  bench.config.num_speculative_tokens = 2;
  bench.accepted[0] = 3;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(4), .max_tokens = 20});
  engine.step();
  engine.step();                         // c 4 -> 7, S(7) in column 2
  const NaiveStep cut = engine.step(1);  // budget for one token
  ASSERT_EQ(cut.scheduled.size(), 1u);
  EXPECT_EQ(cut.scheduled[0].num_computed_tokens, 7);
  EXPECT_EQ(cut.scheduled[0].num_draft_tokens, 0);
  EXPECT_THAT(cut.violations, IsEmpty());
  EXPECT_THAT(engine.step().violations, IsEmpty());
}

void mid_block_chunks(Bench& bench, bool on_grid) {
  bench.config.num_speculative_tokens = 1;
  bench.config.use_eagle = true;
  bench.config.rules.chunks_end_on_grid = on_grid;
}

TEST(NaiveEngine, ChunkThatEndsMidBlockPoisonsTheSlot) {  // known bug 1, scenario A
  Bench bench;
  mid_block_chunks(bench, false);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(10), .max_tokens = 4});
  EXPECT_EQ(tokens_of(engine.step(3)), (std::map<int, int>{{0, 3}}));
  const NaiveStep second = engine.step(7);
  EXPECT_EQ(tokens_of(second), (std::map<int, int>{{0, 7}}));
  EXPECT_THAT(texts(second), ElementsAre("label: block 2 of group 1 registered as 8 holds 3"));
}

TEST(NaiveEngine, ChunkThatEndsMidBlockPoisonsTheSecondSlot) {  // known bug 1, scenario B
  Bench bench;
  mid_block_chunks(bench, false);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(18), .max_tokens = 4});
  EXPECT_THAT(engine.step(8).violations, IsEmpty());
  EXPECT_THAT(engine.step(5).violations, IsEmpty());
  const std::vector<std::string> found = texts(engine.step(5));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], ::testing::HasSubstr("registered as 16 holds 13"));
}

TEST(NaiveEngine, ChunksOnTheGridWaitForTheBudgetOfABlock) {  // the same with rule 2
  Bench bench;
  mid_block_chunks(bench, true);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(10), .max_tokens = 4});
  EXPECT_THAT(tokens_of(engine.step(3)), IsEmpty());
  EXPECT_EQ(tokens_of(engine.step(9)), (std::map<int, int>{{0, 8}}));
  EXPECT_EQ(tokens_of(engine.step(1)), (std::map<int, int>{}));
  const NaiveStep last = engine.step(2);
  EXPECT_EQ(tokens_of(last), (std::map<int, int>{{0, 2}}));
  EXPECT_THAT(last.violations, IsEmpty());
}

// A decodes; B is left out of the batch for one step, after it accepted 2 tokens.
std::vector<std::string> skipped_step(bool count_survives) {
  Bench bench;
  bench.config.num_speculative_tokens = 1;
  bench.config.use_eagle = true;
  bench.config.rules.count_survives_skipped_step = count_survives;
  bench.accepted[1] = 2;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 20});
  engine.add_request({.prompt = prompt_of(2, 100), .max_tokens = 20});
  engine.step();
  engine.step();  // B: c 2 -> 4, S(4) in column 1
  EXPECT_EQ(tokens_of(engine.step(2)), (std::map<int, int>{{0, 2}}));
  EXPECT_EQ(engine.num_computed_tokens(1), 4);
  return texts(engine.step());
}

TEST(NaiveEngine, SkippedStepForgetsTheAcceptedCount) {  // known bug 48
  const std::vector<std::string> found = skipped_step(false);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0], ::testing::EndsWith("holds 3, expected 4"));
  EXPECT_THAT(found[1], ::testing::StartsWith("source_conv: conv position 0"));
  EXPECT_THAT(skipped_step(true), IsEmpty());
}

// Prompt 8, generated up to 10, preempted, resumed with a hit of 8: two known tokens are left.
std::vector<std::string> resumed_tail(bool class_by_meaning) {
  Bench bench;
  bench.config.num_speculative_tokens = 1;
  bench.config.rules.class_by_meaning = class_by_meaning;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(8), .max_tokens = 20});
  engine.step();
  engine.step();
  EXPECT_EQ(engine.tokens(0).size(), 10u);
  EXPECT_TRUE(engine.preempt(0));
  const NaiveStep resumed = engine.step();
  EXPECT_EQ(resumed.scheduled.at(0).num_hit_tokens, 8);
  EXPECT_EQ(resumed.scheduled.at(0).num_scheduled_tokens, 2);
  EXPECT_EQ(resumed.scheduled.at(0).decode, !class_by_meaning);
  EXPECT_TRUE(resumed.scheduled.at(0).resumed);
  EXPECT_THAT(resumed.violations, IsEmpty());
  return texts(engine.step());
}

TEST(NaiveEngine, ResumedTailRunsAsDecode) {  // known bug 50
  const std::vector<std::string> found = resumed_tail(false);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0], ::testing::EndsWith("holds 9, expected 10"));
  EXPECT_THAT(resumed_tail(true), IsEmpty());
}

// The producer leaves S(8), S(12) and 3 attention blocks; the consumer shares 14 tokens with it.
NaiveStep eagle_margin(bool no_lookahead) {
  Bench bench;
  bench.config.block_size = 4;
  bench.config.num_speculative_tokens = 1;
  bench.config.use_eagle = true;
  bench.config.rules.mamba_no_eagle_lookahead = no_lookahead;
  bench.accepted[0] = 2;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(6), .max_tokens = 20});
  while (engine.num_computed_tokens(0) < 14) EXPECT_THAT(engine.step().violations, IsEmpty());
  std::vector<std::uint64_t> prompt(engine.tokens(0).begin(), engine.tokens(0).begin() + 14);
  prompt.push_back(99);
  engine.add_request({.prompt = prompt, .max_tokens = 4});
  return engine.step();
}

TEST(NaiveEngine, EagleMarginInflatesTheHybridHit) {  // known bug 2
  const NaiveStep inflated = eagle_margin(false);
  EXPECT_EQ(inflated.scheduled.at(1).num_hit_tokens, 12);
  ASSERT_GE(inflated.violations.size(), 2u);
  EXPECT_EQ(texts(inflated)[0], "hit_coverage: hit of 12, group 0 covers 8");
  EXPECT_EQ(inflated.violations[1].rule, "unwritten_read");
  const NaiveStep agreed = eagle_margin(true);
  EXPECT_EQ(agreed.scheduled.at(1).num_hit_tokens, 8);
  EXPECT_THAT(agreed.violations, IsEmpty());
}

// Two equal prompts in one step (known bug 43).
TEST(NaiveEngine, HitOnABlockOfThisStepWaitsAStep) {
  Bench bench;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(10), .max_tokens = 3});
  engine.add_request({.prompt = prompt_of(10), .max_tokens = 3});
  EXPECT_EQ(tokens_of(engine.step()), (std::map<int, int>{{0, 8}}));
  const NaiveStep second = engine.step();
  EXPECT_EQ(tokens_of(second), (std::map<int, int>{{0, 2}, {1, 2}}));
  EXPECT_EQ(second.scheduled.at(1).num_hit_tokens, 8);
  EXPECT_THAT(second.violations, IsEmpty());

  bench.config.rules.planned_state_hit_waits = false;
  bench.config.rules.planned_attention_hit_waits = false;
  NaiveEngine eager = bench.engine();
  eager.add_request({.prompt = prompt_of(10), .max_tokens = 3});
  eager.add_request({.prompt = prompt_of(10), .max_tokens = 3});
  const NaiveStep together = eager.step();
  EXPECT_EQ(tokens_of(together), (std::map<int, int>{{0, 8}, {1, 2}}));
  ASSERT_FALSE(together.violations.empty());
  EXPECT_EQ(together.violations[0].rule, "unwritten_read");
}

TEST(NaiveEngine, ResetPreemptsAndForgets) {
  Bench bench;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(9), .max_tokens = 3});
  EXPECT_TRUE(engine.reset_prefix_cache(false));
  engine.step();
  EXPECT_FALSE(engine.reset_prefix_cache(false));
  EXPECT_TRUE(engine.reset_prefix_cache(true));
  const NaiveStep resumed = engine.step();
  EXPECT_EQ(resumed.scheduled.at(0).num_hit_tokens, 0);
  EXPECT_TRUE(resumed.scheduled.at(0).resumed);
  EXPECT_THAT(resumed.preempted, IsEmpty());
  engine.abort(0);
  EXPECT_TRUE(engine.finished());
  EXPECT_THAT(engine.step().free_queue, ::testing::SizeIs(63));
}

// While the four conditions hold, no state is ever wrong (semantics: four-conditions).
// naive_rules_test.cpp shows that each condition is needed.

constexpr std::uint64_t kFirstSeed = 20260801;

// Counts what a set of scenarios exercised, so that a clean result means something.
struct Coverage {
  int steps = 0;
  int preempted = 0;
  int resumed_with_hit = 0;
  int hits = 0;
  int backward_pre_copies = 0;
  int same_column_post_copies = 0;
  int backward_post_copies = 0;
  int returns_with_count = 0;  // after a skipped step, with more than one token accepted before it

  void add(const NaiveRun& run) {
    std::map<int, std::pair<int, int>> last;  // request -> step, accepted count
    for (const NaiveStep& step : run.steps) {
      ++steps;
      preempted += static_cast<int>(step.preempted.size());
      for (const NaiveScheduled& entry : step.scheduled) {
        hits += entry.num_hit_tokens.value_or(0) > 0;
        resumed_with_hit += entry.resumed && entry.num_hit_tokens.value_or(0) > 0;
        const auto [last_step, accepted] = last[entry.request];
        returns_with_count += !entry.num_hit_tokens && last_step + 1 < step.step && accepted > 1;
        last[entry.request] = {step.step, entry.num_accepted_tokens};
      }
      for (const NaiveCopy& copy : step.copies) {
        const bool pre = copy.kind == NaiveCopyKind::pre;
        backward_pre_copies += pre && copy.dst_column < copy.src_column;
        backward_post_copies += !pre && copy.dst_column < copy.src_column;
        same_column_post_copies += !pre && copy.dst_column == copy.src_column;
      }
    }
  }
};

Coverage expect_clean(NaiveCacheMode mode, int num_scenarios) {
  Coverage coverage;
  int failures = 0;
  for (int i = 0; i < num_scenarios && failures < 5; ++i) {
    const std::uint64_t seed = kFirstSeed + static_cast<std::uint64_t>(i);
    const NaiveScenario scenario = random_naive_scenario(mode, seed);
    const NaiveRun run = run_naive_scenario(scenario);
    coverage.add(run);
    const std::string fault = fault_of(scenario, run);
    if (fault.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << fault;
  }
  std::cout << num_scenarios << " scenarios from seed " << kFirstSeed << ": " << coverage.steps
            << " steps, " << coverage.hits << " hits, " << coverage.preempted << " preempted\n";
  return coverage;
}

TEST(NaiveEngineRandom, SafeRulesKeepEveryStateRightInAlign) {
  const Coverage coverage = expect_clean(NaiveCacheMode::align, 3000);
  EXPECT_GT(coverage.hits, 1000);
  EXPECT_GT(coverage.preempted, 1000);
  EXPECT_GT(coverage.resumed_with_hit, 100);
  EXPECT_GT(coverage.backward_pre_copies, 100);
  EXPECT_GT(coverage.backward_post_copies, 1000);
  EXPECT_GT(coverage.same_column_post_copies, 100);
  EXPECT_GT(coverage.returns_with_count, 100);
}

TEST(NaiveEngineRandom, SafeRulesKeepEveryStateRightInNone) {
  const Coverage coverage = expect_clean(NaiveCacheMode::none, 1000);
  EXPECT_GT(coverage.preempted, 200);
  EXPECT_GT(coverage.returns_with_count, 100);
  EXPECT_EQ(coverage.hits, 0);
}

TEST(NaiveEngineRandom, SameScenarioGivesTheSameSteps) {
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + 50; ++seed) {
    const NaiveScenario scenario = random_naive_scenario(NaiveCacheMode::align, seed);
    EXPECT_EQ(run_naive_scenario(scenario).steps, run_naive_scenario(scenario).steps);
  }
}

}  // namespace

}  // namespace hybridscope::test::naive_engine_test
