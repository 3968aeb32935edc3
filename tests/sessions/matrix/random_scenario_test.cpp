#include "sessions/matrix/random_scenario.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/engine/cudagraph_setup.h"
#include "core/model/checkpoint_layers.h"
#include "sessions/matrix/cell_result.h"
#include "sessions/scenario/engine_setup.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_writer.h"
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

}  // namespace
}  // namespace hybridscope::test::random_scenario_test
