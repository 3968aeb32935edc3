#include "sessions/plan/plan_figures.h"

#include <gtest/gtest.h>
#include <random>
#include <set>

#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/run/runner.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/support/property.h"

namespace hybridscope::test::plan_figures_test {
namespace {

RunPlan plan_of(const std::string& settings, const std::string& requests,
                const std::string& model = "tiny-gdn") {
  const std::string text = R"({"version": 1, "name": "n", "teaches": "t", "model": ")" + model +
                           R"(", "settings": {"max_model_len": 64, )" + settings +
                           R"(}, "requests": [)" + requests + "]}";
  return plan_scenario(parse_scenario({text, "test.json"}).value(), "test.json").value();
}

PlanFigures figures_of(RunPlan plan) {
  PlanMeter meter(plan.setup.config);
  Runner runner = Runner::create(std::move(plan)).value();
  while (!runner.done()) meter.add(*runner.step().value());
  return meter.figures();
}

constexpr const char* kAlign =
    R"("mamba_cache_mode": "align", "block_size": 8, "num_gpu_blocks_override": 64,
       "async_scheduling": false)";

TEST(PlanMeter, HitsAndComputedTokensAddUpToThePrompts) {
  const PlanFigures f = figures_of(plan_of(kAlign, R"({"id": "A", "prompt": 20, "max_tokens": 2},
                 {"id": "B", "prompt": {"tokens": 20, "share": "A", "share_tokens": 18}, "max_tokens": 2,
                  "at_step": 9})"));
  EXPECT_EQ(f.prompt_tokens, 40);
  EXPECT_EQ(f.hit_tokens, 16);  // two blocks of A
  EXPECT_EQ(f.computed_prompt_tokens, 24);
  EXPECT_DOUBLE_EQ(f.hit_rate(), 0.4);
  EXPECT_EQ(f.running.most, 1);
  EXPECT_EQ(f.requests_finished, 2);
}

TEST(PlanMeter, BlocksOfARequestAreItsStateItsDraftsAndSnapshots) {
  const PlanFigures f = figures_of(
      plan_of(std::string(kAlign) +
                  R"(, "speculative_config": {"method": "mtp", "num_speculative_tokens": 2})",
              R"({"id": "A", "prompt": 7, "max_tokens": 1})"));
  const auto most = [&](BlockKind kind) { return f.blocks[static_cast<std::size_t>(kind)].most; };
  EXPECT_EQ(most(BlockKind::running_state), 2);  // tiny-gdn has two recurrent groups
  EXPECT_EQ(most(BlockKind::draft), 4);
  EXPECT_EQ(most(BlockKind::snapshot), 0);
  EXPECT_GE(most(BlockKind::attention), 1);
}

// Preempts A, which has a prompt of 7 tokens, after its third step.
PlanFigures figures_with_preemption(const std::string& settings) {
  RunPlan plan = plan_of(settings, R"({"id": "A", "prompt": 7, "max_tokens": 6})");
  PlanMeter meter(plan.setup.config);
  Engine engine = Engine::create(plan.setup.config).value();
  (void)engine.add_request(plan.requests[0].request);
  for (int step = 0; step < 3; ++step) meter.add(engine.step());
  EXPECT_EQ(meter.figures().lost_tokens, 0);
  EXPECT_TRUE(engine.apply(PreemptRequest{RequestId{0}}).ok());
  while (engine.num_unfinished() > 0) meter.add(engine.step());
  EXPECT_EQ(meter.figures().preemptions, 1);
  return meter.figures();
}

TEST(PlanMeter, TokensThatAPreemptionThrowsAwayAreLost) {
  const PlanFigures f = figures_with_preemption(
      R"("mamba_cache_mode": "none", "num_gpu_blocks_override": 64, "async_scheduling": false)");
  EXPECT_EQ(f.lost_tokens, 9);  // 7 of the prompt and two of the answer
  EXPECT_EQ(f.computed_prompt_tokens, 14);
}

TEST(PlanMeter, TokensThatTheCacheGivesBackAreNotLost) {
  const PlanFigures f = figures_with_preemption(kAlign);
  EXPECT_EQ(f.lost_tokens, 1);  // the block of 8 tokens is hit
  EXPECT_EQ(f.computed_prompt_tokens, 7);
}

// What requests hold, counted anew from the engine's block lists after each step.
struct Counted {
  std::set<std::int32_t> attention, mamba;
  std::int64_t running = 0, drafts = 0, cached = 0;
};
Counted count(const Engine& engine) {
  Counted counted;
  const EngineConfig& config = engine.config();
  const auto groups = static_cast<std::int32_t>(config.kv_cache_config.groups.size());
  for (std::int32_t request = 0; request < engine.num_requests(); ++request)
    for (std::int32_t group = 0; group < groups; ++group) {
      const bool is_mamba =
          config.kv_cache_config.groups[static_cast<std::size_t>(group)].is_mamba();
      std::int64_t held = 0;
      for (const std::int32_t block : engine.kv_cache().block_ids(RequestId{request}, group)) {
        if (block == kNullBlock) continue;
        (is_mamba ? counted.mamba : counted.attention).insert(block);
        ++held;
      }
      if (!is_mamba || held == 0) continue;
      ++counted.running;
      counted.drafts += std::min<std::int64_t>(held - 1, config.num_speculative_tokens);
    }
  for (std::int32_t block = 1; block < config.kv_cache_config.num_blocks; ++block)
    if (!counted.mamba.contains(block) && !counted.attention.contains(block) &&
        engine.kv_cache().pool().key(block).block_hash != 0)
      ++counted.cached;
  return counted;
}

TEST(BlockUseMeter, CountsWhatTheEnginesBlockListsSayAfterEachStep) {
  const std::uint64_t seed = from_environment("HYBRIDSCOPE_SEED", 20261128);
  SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<MatrixCell> cells = all_cells();
  for (std::size_t done = 0; done < num_cases(60);) {
    const MatrixCell& cell = cells[random() % cells.size()];
    if (stands_for(cell) || !refusal_of(cell).empty()) continue;
    const Scenario scenario = drawn_scenario(cell, static_cast<std::int64_t>(done++), seed);
    SCOPED_TRACE(scenario.name);
    Runner runner = Runner::create(plan_scenario(scenario, "scenario.json").value()).value();
    BlockUseMeter meter(runner.engine().config());
    for (int steps = 0; !runner.done() && steps < 300; ++steps) {
      const StepTrace& trace = *runner.step().value();
      for (const CacheEvent& event : trace.cache_events) meter.take(event);
      for (const CacheEvent& event : trace.commit_events) meter.take(event);
      const Counted counted = count(runner.engine());
      ASSERT_EQ(meter.blocks(BlockKind::attention), std::ssize(counted.attention)) << trace.step;
      ASSERT_EQ(meter.blocks(BlockKind::running_state), counted.running) << trace.step;
      ASSERT_EQ(meter.blocks(BlockKind::draft), counted.drafts) << trace.step;
      ASSERT_EQ(meter.blocks(BlockKind::snapshot),
                std::ssize(counted.mamba) - counted.running - counted.drafts)
          << trace.step;
      ASSERT_EQ(meter.num_cached(), counted.cached) << trace.step;
    }
  }
}

}  // namespace

}  // namespace hybridscope::test::plan_figures_test
