#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/engine/scheduler_setup.h"
#include "core/model/model_policies.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/finding_roots.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/matrix_events.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/weights/load_model.h"
#include "tests/sessions/matrix/small_matrix.h"
#include "tests/support/property.h"

namespace hybridscope::test::random_scenario_test {
namespace {

TEST(RandomScenario, TheSameSeedGivesTheSameScenario) {
  const MatrixCell cell =
      cell_called("align/mtp2/on/SD/v1/async/full_and_piecewise/preemption/dense/block/none");
  EXPECT_EQ(random_scenario(cell, 7), random_scenario(cell, 7));
  EXPECT_NE(random_scenario(cell, 7), random_scenario(cell, 8));
}

// Must not change with compiler or library, because digests of results depend on it.
TEST(RandomScenario, ItsDrawsAreTheSameEverywhere) {
  const Scenario scenario = random_scenario(
      cell_called("align/mtp2/on/SD/v1/async/full_and_piecewise/preemption/dense/block/none"), 7);
  EXPECT_EQ(scenario.model, "tiny-mamba2");
  EXPECT_EQ(scenario.settings.block_size, 4);
  EXPECT_EQ(scenario.requests.size(), 5U);
}

TEST(RandomScenario, AFileOfItGivesItBack) {
  for (const MatrixCell& cell : cells_with({"graphs=full_and_piecewise", "layout=SD"})) {
    if (!is_run(cell)) continue;
    const Scenario scenario = random_scenario(cell, 3);
    const std::string text = write_scenario(scenario);
    const auto read = parse_scenario({.text = text, .file = "random"});
    ASSERT_TRUE(read.ok()) << read.error().message << text;
    EXPECT_EQ(read.value(), scenario) << text;
  }
}

// Blocks of 4, 6, 8 or 9 tokens have divisors to match by.
TEST(RandomScenario, SetsWhatRetentionAndMatchUnitName) {
  const EngineSettings settings =
      random_scenario(cell_called("align/mtp2/on/SD/v1/sync/none/none/2B/finer/none"), 7).settings;
  EXPECT_EQ(settings.prefix_cache_retention_interval, 2 * *settings.block_size);
  EXPECT_LT(*settings.prefix_match_unit, *settings.block_size);
  EXPECT_EQ(*settings.block_size % *settings.prefix_match_unit, 0);
  const EngineSettings plain =
      random_scenario(cell_called("align/mtp2/on/SD/v1/sync/none/none/dense/block/none"), 7)
          .settings;
  EXPECT_EQ(plain.prefix_cache_retention_interval, std::nullopt);
  EXPECT_EQ(plain.prefix_match_unit, std::nullopt);
}

// The generator names the model, the cell's layers are a policy.
TEST(RandomScenario, InsideAPrefillTheLayersOfMamba2StoreStates) {
  const MatrixCell cell = cell_called("align/none/on/SD/v1/sync/none/none/dense/block/in_prefills");
  CellRunOptions options;
  const Scenario safe = scenario_of_cell(cell, 0, options);
  EXPECT_EQ(safe.model, "tiny-mamba2");
  PolicyOverrides layers;
  layers.set(CheckpointLayers::mamba2);
  EXPECT_EQ(safe.settings.policies, layers);
  options.profile = EngineProfile::vllm(Release::v0_33_0);
  const MatrixCell without = cell_called("align/none/on/SD/v1/sync/none/none/dense/block/none");
  layers.set(CheckpointLayers::none);
  EXPECT_EQ(scenario_of_cell(without, 0, options).settings.policies, layers);
}

// What a cell is called is what its engines do, whichever model a scenario takes.
TEST(RandomScenario, TheGraphModeOfACellIsLeftAsItIs) {
  for (const MatrixCell& cell : cells_with({"layout=SD", "scheduling=sync"})) {
    if (!is_run(cell)) continue;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
      const Scenario scenario = random_scenario(cell, seed);
      const auto setup = make_engine_setup(scenario.model, scenario.settings);
      ASSERT_TRUE(setup.ok()) << setup.error().message;
      EXPECT_EQ(resolve_cudagraphs(setup.value().config).value().cudagraph_mode,
                cell.cudagraph_mode())
          << cell_name(cell) << ", seed " << seed << ", " << scenario.model;
    }
  }
}

// One cell in four; every cell where HYBRIDSCOPE_TIMES asks for more.
TEST(RandomScenario, RunsCleanInTheSafeProfile) {
  constexpr std::size_t kCells = 7680;
  const std::size_t step = std::max<std::size_t>(1, 8 / num_cases(1));
  std::size_t run = 0;
  for (const MatrixCell& cell : all_cells()) {
    if (!is_run(cell) || run++ % step != 0) continue;
    const auto checked = check_scenario(scenario_of_cell(cell, 0, {}), {});
    ASSERT_TRUE(checked.ok()) << cell_name(cell) << ": " << checked.error().message;
    EXPECT_TRUE(checked.value().errors.empty()) << cell_name(cell);
  }
  EXPECT_EQ(run, kCells);
}

// Random scenarios of the matrix under releases: what a finding is put down to removes it.
// HYBRIDSCOPE_TIMES=100 runs 6,000.

constexpr std::size_t kScenarios = 60;

// The findings of severity error up to a step.
std::vector<Finding> findings_of(const RunPlan& plan, std::int64_t last) {
  std::vector<Finding> findings;
  auto run = CheckedRun::create(plan, {.max_steps = kMaxMatrixSteps}).value();
  while (!run.has_ended()) {
    const auto step = run.step();
    if (!step.ok() || step.value().trace.step > last) break;
    for (const Finding& finding : step.value().findings)
      if (rule_info(finding.rule).severity == Severity::error) findings.push_back(finding);
  }
  return findings;
}

bool is_like(const Finding& a, const Finding& b) {
  return a.rule == b.rule && a.detail == b.detail && a.request == b.request;
}

// Of the first chain no other chain's findings can be taken for its own.
TEST(CauseProperty, TheNamedCauseSwitchedOffRemovesTheFirstFinding) {
  const std::uint64_t seed = test::from_environment("HYBRIDSCOPE_SEED", 20261128);
  SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed));
  const std::vector<MatrixCell> cells = all_cells();
  std::mt19937_64 random(seed);
  std::size_t with_findings = 0;
  std::size_t named = 0;
  while (with_findings < test::num_cases(kScenarios)) {
    const MatrixCell& cell = cells[random() % cells.size()];
    const auto release = static_cast<Release>(random() % release_names().size());
    const auto index = static_cast<std::int64_t>(random() % 1000);
    if (stands_for(cell) || !refusal_of(cell).empty()) continue;
    const CellRunOptions options{.profile = EngineProfile::vllm(release), .seed = seed};
    const Scenario scenario = scenario_of_cell(cell, index, options);
    SCOPED_TRACE(scenario.name + " in " + std::string(release_name(release)));
    const auto plan = plan_scenario(scenario, "scenario.json");
    if (!plan.ok()) continue;  // the release does not have what the cell asks for
    const std::vector<Finding> findings = findings_of(plan.value(), kMaxMatrixSteps);
    if (findings.empty()) continue;
    ++with_findings;
    const Finding& first = findings.front();
    const FindingCause cause = find_cause(plan.value(), first);
    if (!cause.is_known()) continue;
    ++named;
    RunPlan without = plan.value();
    switch_off(cause.policies, without.settings, without.script);
    without.setup = make_engine_setup(without.setup.layout.model, without.settings).value();
    for (const Finding& left : findings_of(without, first.step))
      EXPECT_FALSE(is_like(left, first))
          << cause.words << ", but step " << left.step << " has the finding of step " << first.step;
  }
  EXPECT_EQ(named, with_findings);
}

// Random scenarios of the matrix with a language model on their decisions. HYBRIDSCOPE_TIMES=100
// runs 2,000.

constexpr std::size_t kNumericScenarios = 20;

std::shared_ptr<const HybridModel> model_of(const std::string& name) {
  auto loaded = load_model(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/" + name);
  return std::make_shared<const HybridModel>(std::move(loaded).value().model);
}

TEST(NumericRandom, EveryRequestSaysWhatItSaysAlone) {
  const std::uint64_t seed = test::from_environment("HYBRIDSCOPE_SEED", 20261127);
  SCOPED_TRACE("HYBRIDSCOPE_SEED=" + std::to_string(seed));
  const std::shared_ptr<const HybridModel> models[] = {
      model_of("model_bamba"), model_of("model_lfm2"), model_of("model_qwen3_5_text")};
  const std::vector<MatrixCell> cells = all_cells();
  std::mt19937_64 random(seed);
  std::size_t done = 0;
  std::int64_t tokens = 0;
  while (done < test::num_cases(kNumericScenarios)) {
    const MatrixCell& cell = cells[random() % cells.size()];
    if (stands_for(cell) || !refusal_of(cell).empty()) continue;
    const Scenario scenario = drawn_scenario(cell, static_cast<std::int64_t>(done), seed);
    SCOPED_TRACE(scenario.name);
    auto plan = plan_scenario(scenario, "scenario.json");
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    auto created =
        CheckedRun::create(std::move(plan).value(), {.language = {.model = models[done % 3]}});
    ASSERT_TRUE(created.ok()) << created.error().message;
    CheckedRun& run = created.value();
    while (!run.has_ended()) {
      const auto step = run.step();
      ASSERT_TRUE(step.ok()) << step.error().message;
      for (const Finding& finding : step.value().findings)
        ASSERT_NE(rule_info(finding.rule).evidence, Evidence::numbers)
            << "step " << finding.step << ": " << explain_finding(finding, numbered_names());
    }
    for (const SpokenText& text : run.texts()) {
      // A prompt may continue an answer before it exists: its tokens are settled then.
      EXPECT_TRUE(text.is_forced || text.alone.empty());
      tokens += static_cast<std::int64_t>(text.tokens.size());
    }
    ++done;
  }
  EXPECT_GT(tokens, static_cast<std::int64_t>(done));
}

// Runs that the matrix found to break hybridscope itself.

CheckedScenario run(const std::string& text) {
  const auto scenario = parse_scenario({.text = text, .file = "found"});
  return check_scenario(scenario.value(), {}).value();
}

// A stale frame takes so much off the tokens to come that they fall below the computed ones: a row
// of 2 tokens was to have 3 drafts.
TEST(FoundByTheMatrix, MoreDraftsThanTokensAfterAStaleFrame) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "none", "num_gpu_blocks_override": 400, "block_size": 8,
      "max_model_len": 84, "max_num_seqs": 6, "max_num_batched_tokens": 256, "runner": "v2",
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 3}, "acceptance_rate": 0.0,
      "seed": 567369168, "cudagraph_mode": "PIECEWISE", "engine": "vllm@2026-06-29"},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 18},
      {"id": "C", "prompt": 1, "max_tokens": 4, "at_step": 11}],
    "script": [{"step": 9, "reset_prefix_cache": {"running": true}},
      {"step": 12, "reset_prefix_cache": {"running": true}},
      {"step": 14, "reset_prefix_cache": {"running": true}}]})");
  EXPECT_TRUE(std::ranges::any_of(checked.errors, [](const FindingKind& kind) {
    return kind.rule == Rule::rejected_draft_counted;
  }));
}

// A request seemed to have more computed tokens than known ones, whose blocks were to be registered
// by hashes that there are not.
TEST(FoundByTheMatrix, MoreComputedTokensThanKnownOnesAfterAStaleFrame) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "align", "num_gpu_blocks_override": 400, "block_size": 5,
      "max_model_len": 31, "max_num_seqs": 4, "max_num_batched_tokens": 256,
      "scheduling_policy": "priority", "speculative_config": {"method": "mtp",
      "num_speculative_tokens": 3}, "acceptance_rate": 0.0, "seed": 84887856,
      "cudagraph_mode": "PIECEWISE", "engine": "vllm@2026-06-29"},
    "requests": [{"id": "A", "prompt": 2, "max_tokens": 13, "priority": 1},
      {"id": "B", "prompt": {"tokens": 9, "share": "A", "share_tokens": 7}, "max_tokens": 7, "priority": 2, "at_step": 4},
      {"id": "C", "prompt": 16, "max_tokens": 10, "priority": 2, "at_step": 12},
      {"id": "D", "prompt": {"tokens": 19, "share": "B", "share_tokens": 16}, "max_tokens": 12, "priority": 1},
      {"id": "E", "prompt": {"tokens": 15, "share": "A", "share_tokens": 9}, "max_tokens": 11, "at_step": 3},
      {"id": "F", "prompt": {"tokens": 1, "share": "E"}, "max_tokens": 9, "priority": 1, "at_step": 11}],
    "script": [{"step": 3, "reset_prefix_cache": {"running": true}}, {"step": 4, "abort": ["A"]},
      {"step": 12, "reset_prefix_cache": {"running": true}},
      {"step": 20, "reset_prefix_cache": {"running": true}}]})");
  EXPECT_FALSE(checked.errors.empty());
}

// Known bug 2 where hits may end inside blocks: a hit longer than what attention holds had a block
// copied that was not the request's, and freed twice.
TEST(FoundByTheMatrix, NoLongerLimitWhereHitsEndInsideBlocks) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"mamba_cache_mode": "align", "num_gpu_blocks_override": 400, "block_size": 4,
      "max_model_len": 32, "max_num_seqs": 3, "prefix_cache_retention_interval": 8,
      "prefix_match_unit": 2, "scheduling_policy": "priority", "async_scheduling": false,
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 1},
      "acceptance_rate": 0.3, "seed": 232887445, "cudagraph_mode": "NONE",
      "policies": {"mamba_eagle_lookahead": "longer_limit"}},
    "requests": [{"id": "A", "prompt": 13},
      {"id": "B", "prompt": 15, "max_tokens": 8, "priority": 1, "at_step": 6},
      {"id": "C", "prompt": {"tokens": 17, "share": "B"}, "max_tokens": 2, "priority": 1, "at_step": 2},
      {"id": "D", "prompt": {"tokens": 23, "share": "B", "share_tokens": 21}, "max_tokens": 2, "at_step": 3, "cache_salt": 1},
      {"id": "E", "prompt": {"tokens": 10, "share": "A", "share_tokens": 8}, "priority": 1, "at_step": 8},
      {"id": "F", "prompt": {"tokens": 24, "share": "D", "share_tokens": 23}, "max_tokens": 8, "priority": 1}]})");
  EXPECT_TRUE(checked.errors.empty());
}

// The policy is about steps without drafts: without speculation there is none, and a prompt of one
// token is a prefill whatever its rows without drafts read.
TEST(FoundByTheMatrix, ColumnZeroDoesNotMakeAPromptADecode) {
  const CheckedScenario checked = run(R"({"version": 1, "model": "tiny-gdn",
    "settings": {"num_gpu_blocks_override": 8, "max_model_len": 64,
      "policies": {"no_draft_step": "column_zero"}},
    "requests": [{"id": "A", "prompt": 1, "max_tokens": 3}]})");
  EXPECT_TRUE(checked.errors.empty());
}

}  // namespace

}  // namespace hybridscope::test::random_scenario_test
