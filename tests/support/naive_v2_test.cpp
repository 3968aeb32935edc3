// The V2 runner of the naive engine on scenarios worked out by hand (semantics: request-slots,
// row-order-v2; known bug 12).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/naive_bench.h"
#include "tests/support/naive_scenario.h"

namespace hybridscope::test::naive_v2_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Bench v2_bench(int num_speculative_tokens, bool use_eagle) {
  Bench bench;
  bench.config.block_size = 4;
  bench.config.runner = NaiveRunner::v2;
  bench.config.num_speculative_tokens = num_speculative_tokens;
  bench.config.use_eagle = use_eagle;
  return bench;
}

std::vector<int> idx_mapping(const NaiveStep& step) {
  std::vector<int> result;
  for (const NaiveBatchRow& row : step.rows) result.push_back(row.slot.value());
  return result;
}

// Request A of the worked example (semantics: accepted-counts-v2).
TEST(NaiveV2, WorkedExampleOfOneSlot) {
  Bench bench = v2_bench(1, true);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(6), .max_tokens = 20});
  const NaiveStep first = engine.step();
  EXPECT_EQ(first.rows.at(0), (NaiveBatchRow{.request = 0,
                                             .scheduled = 0,
                                             .slot = 3,
                                             .previous_row = {},
                                             .source_column = {},
                                             .state_column = 1}));
  EXPECT_EQ(first.scheduled.at(0).num_scheduled_tokens, 6);

  bench.accepted[0] = 2;
  const NaiveStep second = engine.step();
  EXPECT_EQ(second.rows.at(0), (NaiveBatchRow{.request = 0,
                                              .scheduled = 0,
                                              .slot = 3,
                                              .previous_row = 0,
                                              .num_computed_tokens = 6,
                                              .source_column = 1,
                                              .state_column = 1}));
  EXPECT_EQ(second.scheduled.at(0).num_draft_tokens, 1);
  EXPECT_THAT(second.copies, ElementsAre(NaiveCopy{NaiveCopyKind::post, 0, 1, 1, 1}));

  const NaiveStep third = engine.step();
  EXPECT_EQ(third.rows.at(0).num_computed_tokens, 8);
  EXPECT_EQ(third.rows.at(0).source_column, 1);
  EXPECT_EQ(third.rows.at(0).state_column, 2);
  EXPECT_EQ(third.copies.at(0), (NaiveCopy{NaiveCopyKind::pre, 0, 1, 2, 0}));
  EXPECT_THAT(texts(third), IsEmpty());
}

// Request B of the worked example, not padded (semantics: accepted-counts-v2).
TEST(NaiveV2, AHitStartsAtTheColumnOfItsLastToken) {
  Bench bench = v2_bench(1, false);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(6), .max_tokens = 20});
  engine.step();
  engine.step();
  bench.accepted[0] = 2;
  EXPECT_EQ(engine.step().rows.at(0).num_accepted_after, 1);  // c 6 -> 8, shifted within the block
  std::vector<std::uint64_t> prompt = prompt_of(4);
  prompt.push_back(99);
  engine.add_request({.prompt = prompt, .max_tokens = 20});
  const NaiveStep step = engine.step();
  EXPECT_THAT(idx_mapping(step), ElementsAre(3, 2));
  EXPECT_EQ(step.rows.at(1), (NaiveBatchRow{.request = 1,
                                            .scheduled = 1,
                                            .slot = 2,
                                            .previous_row = {},
                                            .num_computed_tokens = 4,
                                            .source_column = 0,
                                            .state_column = 1}));
  EXPECT_EQ(step.copies.at(0), (NaiveCopy{NaiveCopyKind::pre, 0, 1, 2, 0}));
  EXPECT_EQ(step.copies.at(1), (NaiveCopy{NaiveCopyKind::pre, 1, 0, 1, 0}));
  EXPECT_THAT(texts(step), IsEmpty());
}

// A skipped running request keeps its slot and the slot's contents; V1 needs rule 4 for that.
TEST(NaiveV2, ASkippedStepForgetsNothing) {
  Bench bench = v2_bench(1, true);
  bench.config.block_size = 8;
  bench.config.rules.count_survives_skipped_step = false;
  bench.accepted[1] = 2;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 20});
  engine.add_request({.prompt = prompt_of(2, 100), .max_tokens = 20});
  engine.step();
  engine.step();
  EXPECT_THAT(idx_mapping(engine.step(2)), ElementsAre(3));
  const NaiveStep back = engine.step();
  EXPECT_THAT(idx_mapping(back), ElementsAre(3, 2));
  EXPECT_EQ(back.rows.at(1).num_accepted_before, 2);
  EXPECT_EQ(back.rows.at(1).previous_row, std::nullopt);
  EXPECT_THAT(texts(back), IsEmpty());
}

TEST(NaiveV2, AFinishedRequestsSlotIsFreeInTheNextFrame) {
  Bench bench = v2_bench(0, false);
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(3), .max_tokens = 1});
  engine.add_request({.prompt = prompt_of(3, 100), .max_tokens = 9});
  EXPECT_THAT(idx_mapping(engine.step()), ElementsAre(3, 2));
  engine.add_request({.prompt = prompt_of(3, 200), .max_tokens = 9});
  EXPECT_THAT(idx_mapping(engine.step()), ElementsAre(2, 3));
}

// The same with a frame in flight: the stop is reported one schedule later.
TEST(NaiveV2, AsynchronousSlotsAreFreedOneFrameLater) {
  Bench bench = v2_bench(0, false);
  bench.config.async_scheduling = true;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(3), .max_tokens = 1});
  engine.add_request({.prompt = prompt_of(3, 100), .max_tokens = 9});
  EXPECT_THAT(idx_mapping(engine.step()), ElementsAre(3, 2));
  engine.add_request({.prompt = prompt_of(3, 200), .max_tokens = 9});
  EXPECT_THAT(idx_mapping(engine.step()), ElementsAre(2, 1));
  engine.add_request({.prompt = prompt_of(3, 300), .max_tokens = 9});
  EXPECT_THAT(idx_mapping(engine.step()), ElementsAre(2, 1, 3));
}

// Known bug 12: mode none, K = 3. A verifies with a = 3 from its last step; B's prompt of 20 tokens
// ends in a tail of two: rows [B, A] instead of [A, B].
std::vector<std::string> short_tail(bool decode_rows_first) {
  Bench bench = v2_bench(3, false);
  bench.config.mode = NaiveCacheMode::none;
  bench.config.rules.decode_rows_first = decode_rows_first;
  bench.accepted[0] = 3;
  NaiveEngine engine = bench.engine();
  engine.add_request({.prompt = prompt_of(5), .max_tokens = 20});
  engine.step();
  engine.add_request({.prompt = prompt_of(20, 100), .max_tokens = 20});
  engine.step(22);  // A: c 5 -> 8, S(8) in column 2; B: 18 tokens
  bench.accepted[0] = 2;
  const NaiveStep both = engine.step();
  EXPECT_THAT(idx_mapping(both), decode_rows_first ? ElementsAre(3, 2) : ElementsAre(2, 3));
  return texts(both);
}

TEST(NaiveV2, AShortTailBeforeAVerifyRowTurnsItIntoAPrefill) {
  const std::vector<std::string> found = short_tail(false);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found[0], ::testing::EndsWith("holds 6, expected 8"));
  EXPECT_THAT(short_tail(true), IsEmpty());
}

// Random scenarios with asynchronous scheduling and the V2 runner: the safe rules keep every state
// correct there too, and asynchronous scheduling agrees with synchronous (semantics:
// async-equals-sync).

constexpr std::uint64_t kFirstSeed = 20261121;

struct Variant {
  const char* name;
  NaiveCacheMode mode;
  NaiveVariant engine;
};

constexpr Variant kVariants[] = {
    {"sync_v2_align", NaiveCacheMode::align, {false, NaiveRunner::v2}},
    {"async_v1_align", NaiveCacheMode::align, {true, NaiveRunner::v1}},
    {"async_v2_align", NaiveCacheMode::align, {true, NaiveRunner::v2}},
    {"sync_v2_none", NaiveCacheMode::none, {false, NaiveRunner::v2}},
    {"async_v1_none", NaiveCacheMode::none, {true, NaiveRunner::v1}},
    {"async_v2_none", NaiveCacheMode::none, {true, NaiveRunner::v2}},
};

// Counts what a set of scenarios exercised, so that a clean result means something.
struct Coverage {
  int steps = 0;
  int preempted = 0;
  int hits = 0;
  int left = 0;      // rows whose request had left when their frame returned
  int stale = 0;     // rows whose request was reset meanwhile
  int drained = 0;   // tokens appended to a preempted request
  int rejected = 0;  // frames that rejected drafts while the next one was in flight
  int moved = 0;     // rows of running requests that changed their place

  void add(const NaiveRun& run) {
    for (const NaiveStep& step : run.steps) {
      ++steps;
      preempted += static_cast<int>(step.preempted.size());
      for (const NaiveScheduled& entry : step.scheduled)
        hits += entry.num_hit_tokens.value_or(0) > 0;
      for (const NaiveCommitted& entry : step.committed) {
        left += entry.result == NaiveReturn::left;
        stale += entry.result == NaiveReturn::stale;
        drained += entry.num_appended_tokens > 0 && entry.num_computed_tokens == 0;
        rejected += entry.num_rejected_tokens > 0 && entry.num_output_placeholders > 0;
      }
      for (std::size_t i = 0; i < step.rows.size(); ++i)
        moved += step.rows[i].previous_row.value_or(static_cast<int>(i)) != static_cast<int>(i);
    }
  }
};

class NaiveVariants : public ::testing::TestWithParam<Variant> {};

TEST_P(NaiveVariants, SafeRulesKeepEveryStateRight) {
  Coverage coverage;
  int failures = 0;
  constexpr int kScenarios = 1000;
  for (int i = 0; i < kScenarios && failures < 5; ++i) {
    const std::uint64_t seed = kFirstSeed + static_cast<std::uint64_t>(i);
    const NaiveScenario scenario = random_naive_scenario(GetParam().mode, seed, GetParam().engine);
    const NaiveRun run = run_naive_scenario(scenario);
    coverage.add(run);
    const std::string fault = fault_of(scenario, run);
    if (fault.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << fault;
  }
  std::cout << kScenarios << " scenarios from seed " << kFirstSeed << ": " << coverage.steps
            << " steps, " << coverage.hits << " hits, " << coverage.preempted << " preempted, "
            << coverage.left << " left, " << coverage.stale << " stale, " << coverage.drained
            << " drained, " << coverage.rejected << " rejected in flight, " << coverage.moved
            << " moved rows\n";
  EXPECT_GT(coverage.preempted, 400);
  EXPECT_GT(coverage.moved, 1000);
  EXPECT_GE(coverage.hits, GetParam().mode == NaiveCacheMode::align ? 1000 : 0);
  if (!GetParam().engine.async_scheduling) return;
  EXPECT_GT(coverage.left, 500);
  EXPECT_GT(coverage.stale, 50);
  EXPECT_GT(coverage.drained, 100);
  EXPECT_GT(coverage.rejected, 1000);
}

INSTANTIATE_TEST_SUITE_P(Engines, NaiveVariants, ::testing::ValuesIn(kVariants),
                         [](const auto& variant) { return std::string(variant.param.name); });

}  // namespace

}  // namespace hybridscope::test::naive_v2_test
