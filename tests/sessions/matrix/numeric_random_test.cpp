// Random scenarios of the matrix with a language model on their decisions. HYBRIDSCOPE_TIMES=100
// runs 2,000.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/numeric/hybrid_model.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/matrix/matrix_cell.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/run/checked_run.h"
#include "sessions/weights/load_model.h"
#include "tests/support/property.h"

namespace hybridscope::numeric_random_test {
namespace {

constexpr std::size_t kScenarios = 20;

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
  while (done < test::num_cases(kScenarios)) {
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

}  // namespace
}  // namespace hybridscope::numeric_random_test
