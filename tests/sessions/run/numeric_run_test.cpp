// Every shipped scenario with a language model on its decisions: each request says what a lone run
// of it says, and every state that a row reads or leaves is bit for bit the lone run's.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/numeric/hybrid_model.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/weights/load_model.h"
#include "tests/support/property.h"

namespace hybridscope::numeric_run_test {
namespace {

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

std::shared_ptr<const HybridModel> model_of(const std::string& name) {
  auto loaded = load_model(kRoot + "/tests/golden/numeric/" + name);
  return std::make_shared<const HybridModel>(std::move(loaded).value().model);
}

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

Scenario shipped(const std::string& name) {
  return read_scenario_file(kRoot + "/scenarios/" + name + ".json").value();
}

std::vector<std::int32_t> ids_of(const SpokenText& text) {
  std::vector<std::int32_t> ids;
  for (const SpokenToken& token : text.tokens) ids.push_back(token.id);
  return ids;
}

// What the requests say, in order; empty: the settings do not allow this run.
std::vector<std::vector<std::int32_t>> say(const Scenario& scenario,
                                           std::shared_ptr<const HybridModel> model,
                                           NumericForm form = NumericForm::recurrent) {
  auto plan = plan_scenario(scenario, "scenario.json");
  if (!plan.ok()) return {};
  auto created = CheckedRun::create(std::move(plan).value(),
                                    {.language = {.form = form, .model = std::move(model)}});
  if (!created.ok()) return {};
  CheckedRun& run = created.value();
  while (!run.has_ended()) {
    const auto step = run.step();
    if (!step.ok()) {
      ADD_FAILURE() << step.error().message;
      break;
    }
    for (const Finding& finding : step.value().findings)
      if (rule_info(finding.rule).evidence == Evidence::numbers)
        ADD_FAILURE() << "step " << finding.step << ": "
                      << explain_finding(finding, numbered_names());
  }
  std::vector<std::vector<std::int32_t>> said;
  for (const SpokenText& text : run.texts()) {
    if (form == NumericForm::recurrent) {
      EXPECT_TRUE(text.alone.empty()) << "request " << text.request.value << " says something else";
    }
    said.push_back(ids_of(text));
  }
  return said;
}

struct ShippedRun {
  std::string scenario;
  const char* model = "";
};

// One model a scenario in turn, without the one that takes as long as all others together;
// HYBRIDSCOPE_TIMES=3 runs each scenario with all three.
std::vector<ShippedRun> shipped_runs() {
  const char* const models[] = {"model_bamba", "model_lfm2", "model_qwen3_5_text"};
  std::vector<ShippedRun> runs;
  std::size_t next = 0;
  for (const std::string& scenario : shipped_scenarios()) {
    if (test::num_cases(1) == 1 && scenario == "several_groups") continue;
    for (std::size_t i = 0; i < std::min<std::size_t>(test::num_cases(1), 3); ++i)
      runs.push_back({scenario, models[(next + i) % 3]});
    ++next;
  }
  return runs;
}

class NumericRun : public testing::TestWithParam<ShippedRun> {};

// As written, with the other runner, with the other scheduling, and in each cache mode.
TEST_P(NumericRun, SaysWhatLoneRunsSay) {
  const auto& [name, model_name] = GetParam();
  const auto model = model_of(model_name);
  const Scenario scenario = shipped(name);
  const auto as_written = say(scenario, model);
  EXPECT_FALSE(as_written.empty());
  if (model_name != std::string("model_lfm2")) {
    // By chunks, which short convolutions do not have: other bits, logits within the tolerance.
    EXPECT_FALSE(say(scenario, model, NumericForm::chunked).empty());
    return;
  }
  // The smallest model, in five other runs.
  std::vector<Scenario> changed(5, scenario);
  changed[0].settings.runner =
      scenario.settings.runner == ModelRunner::v2 ? ModelRunner::v1 : ModelRunner::v2;
  changed[1].settings.async_scheduling = !scenario.settings.async_scheduling.value_or(true);
  changed[2].settings.mamba_cache_mode = MambaCacheMode::none;
  changed[3].settings.mamba_cache_mode = MambaCacheMode::align;
  changed[4].settings.mamba_cache_mode = MambaCacheMode::all;
  int num_ran = 0;  // settings may not allow a mode or a runner
  for (const Scenario& other : changed) num_ran += say(other, model).empty() ? 0 : 1;
  EXPECT_GE(num_ran, 2);
}

std::string name_of_run(const testing::TestParamInfo<ShippedRun>& info) {
  return info.param.scenario + "_" + info.param.model;
}

INSTANTIATE_TEST_SUITE_P(Shipped, NumericRun, testing::ValuesIn(shipped_runs()), name_of_run);

TEST(NumericTexts, DoNotDependOnTheCacheMode) {
  const auto model = model_of("model_bamba");
  Scenario scenario = shipped("plain_decode");
  const auto said = say(scenario, model);
  ASSERT_EQ(said.size(), 1U);
  for (const MambaCacheMode mode :
       {MambaCacheMode::none, MambaCacheMode::align, MambaCacheMode::all}) {
    scenario.settings.mamba_cache_mode = mode;
    EXPECT_EQ(say(scenario, model), said);
  }
}

}  // namespace
}  // namespace hybridscope::numeric_run_test
