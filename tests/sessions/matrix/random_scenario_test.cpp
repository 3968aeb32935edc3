#include "sessions/matrix/random_scenario.h"

#include <gtest/gtest.h>

#include "sessions/matrix/checked_scenario.h"
#include "sessions/scenario_reader.h"
#include "sessions/scenario_writer.h"
#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test {
namespace {

bool is_run(const MatrixCell& cell) { return !stands_for(cell) && refusal_of(cell).empty(); }

TEST(RandomScenario, TheSameSeedGivesTheSameScenario) {
  const MatrixCell cell = cell_called("align/mtp2/on/SD/v1/async/full/preemption");
  EXPECT_EQ(random_scenario(cell, 7), random_scenario(cell, 7));
  EXPECT_NE(random_scenario(cell, 7), random_scenario(cell, 8));
}

// Digests of results would change if this did: it may not, whatever the compiler and its library.
TEST(RandomScenario, ItsDrawsAreTheSameEverywhere) {
  const Scenario scenario =
      random_scenario(cell_called("align/mtp2/on/SD/v1/async/full/preemption"), 7);
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

TEST(RandomScenario, EveryCellOfThemRunsCleanInTheSafeProfile) {
  int run = 0;
  for (const MatrixCell& cell : all_cells()) {
    if (!is_run(cell)) continue;
    const auto checked = check_scenario(random_scenario(cell, 11), {});
    ASSERT_TRUE(checked.ok()) << cell_name(cell) << ": " << checked.error().message;
    EXPECT_TRUE(checked.value().errors.empty()) << cell_name(cell);
    ++run;
  }
  EXPECT_EQ(run, 1680);
}

}  // namespace
}  // namespace hybridscope::test
