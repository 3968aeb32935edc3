// Every shipped scenario under every profile: what --explain prints in numbers can be computed
// again from what it prints, and the condition of each sentence holds.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/engine/policy_table.h"
#include "core/trace/block_table_mirror.h"
#include "sessions/explain/explain_decision.h"
#include "sessions/explain/explain_step.h"
#include "sessions/matrix/random_scenario.h"
#include "sessions/matrix/run_matrix.h"
#include "sessions/run/checked_run.h"
#include "sessions/run/drive.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/text_page.h"
#include "tests/sessions/explain/explained_run.h"
#include "tests/sessions/explain/explained_sentences.h"
#include "tests/support/swept_profiles.h"

namespace hybridscope::explain_formulas_test {
namespace {

using ::testing::IsEmpty;

TEST(PrintedEquations, AreComputedFromTheNumbersBetweenTheWords) {
  EXPECT_EQ(test::value_of("known 60 + in flight 3 - hit 8"), 55.0);
  EXPECT_EQ(test::value_of("ceil((8 + 2) / 8) - 1"), 1.0);
  EXPECT_EQ(test::value_of("column 1 (block 3)"), 1.0);
  EXPECT_FALSE(test::value_of("c + q - d").has_value());
  EXPECT_EQ(test::check_equations("running = c + q - d = 6 + 2 - 1 = 7 != 8; q = 3").num_checked,
            2);
  EXPECT_THAT(test::check_equations("c = 6 + 2 - 1 rejected = 7").wrong, IsEmpty());
  EXPECT_EQ(test::check_equations("c = 6 + 2 - 1 rejected = 8").wrong.size(), 1U);
  EXPECT_EQ(test::check_equations("aligned = floor(9 / 8) * 8 = 8 < running 8").wrong.size(), 1U);
}

// The scenarios, and those inside the known bugs.
std::vector<Scenario> shipped() {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"", "/bugs"})
    for (const auto& entry : std::filesystem::directory_iterator(
             std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios" + folder))
      if (entry.path().extension() == ".json") paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<Scenario> scenarios;
  for (const auto& path : paths) {
    std::ifstream file(path);
    const auto json = nlohmann::json::parse(file);
    const std::string text = json.contains("scenario") ? json["scenario"].dump() : json.dump();
    scenarios.push_back(parse_scenario({text, path.string()}).value());
    scenarios.back().name = path.stem().string();
  }
  return scenarios;
}

struct Totals {
  int steps = 0;
  int equations = 0;
  int conditions = 0;
};

std::string told(const CheckedStep& step, const EngineConfig& config,
                 const BlockTableMirror& tables, const OwnCounts& own) {
  const StepTrace& trace = step.trace;
  return explain_step(
      {.trace = trace,
       .config = config,
       .names = numbered_names(),
       .scheduler_tables = tables,
       .findings = step.findings,
       .own_count = [&](RequestId request) { return own.before(trace.step, request); },
       .columns = 1 << 20});
}

void tell_run(RunPlan plan, const std::string& what, Totals& totals) {
  auto created = CheckedRun::create(std::move(plan), {.max_steps = 80});
  if (!created.ok()) return;
  CheckedRun& run = created.value();
  const EngineConfig config = run.engine().config();
  BlockTableMirror tables(static_cast<std::int32_t>(config.kv_cache_config.groups.size()),
                          config.kv_cache_config.num_blocks);
  OwnCounts own;
  test::CachedPrefixes cached;
  const auto driven = drive(run, [&](const CheckedStep& step) {
    const StepTrace& trace = step.trace;
    for (const CacheEvent& event : trace.cache_events) tables.apply(event);
    cached.forget(trace.cache_events);
    const std::string text = told(step, run.engine().config(), tables, own);
    const test::Equations equations = test::check_equations(text);
    EXPECT_THAT(equations.wrong, IsEmpty()) << what << " step " << trace.step;
    EXPECT_THAT(test::broken_conditions({trace, run.engine(), cached, text}, totals.conditions),
                IsEmpty())
        << what << " step " << trace.step;
    totals.equations += equations.num_checked;
    ++totals.steps;
    for (const CacheEvent& event : trace.commit_events) tables.apply(event);
    cached.learn(trace.cache_events, run.engine());
    cached.learn(trace.commit_events, run.engine());
    own.take(trace);
    return ::testing::Test::HasFailure() ? Going::stop : Going::on;
  });
  EXPECT_TRUE(driven.ok()) << what << ": " << driven.error().message;
}

// Settings that the profile refuses, such as mode all from 0.33.0 on, are left out.
void tell_under(const EngineProfile& profile, Totals& totals) {
  for (Scenario& scenario : shipped()) {
    scenario.settings.engine = profile;
    auto plan = plan_scenario(scenario, scenario.name);
    if (!plan.ok()) continue;
    tell_run(std::move(plan).value(), scenario.name + " under " + engine_profile_name(profile),
             totals);
    if (::testing::Test::HasFailure()) return;
  }
}

class ExplainFormulas : public ::testing::TestWithParam<EngineProfile> {};

TEST_P(ExplainFormulas, HoldInEveryStepOfEveryShippedScenario) {
  Totals totals;
  tell_under(GetParam(), totals);
  EXPECT_GT(totals.steps, 300);
  EXPECT_GT(totals.equations, 2 * totals.steps);
  EXPECT_GT(totals.conditions, 5 * totals.steps);
}

class ExplainRandomFormulas : public ::testing::TestWithParam<EngineProfile> {};

// One cell of the matrix in 601, with preemptions, resets, small budgets and the rest.
TEST_P(ExplainRandomFormulas, HoldInScenariosOfTheMatrix) {
  Totals totals;
  const std::vector<MatrixCell> cells = all_cells();
  for (std::size_t i = 0; i < cells.size() && !HasFailure(); i += 601) {
    if (!is_run(cells[i])) continue;
    Scenario scenario = random_scenario(cells[i], i);
    scenario.settings.engine = GetParam();
    auto plan = plan_scenario(scenario, "random");
    if (plan.ok())
      tell_run(std::move(plan).value(), "seed " + std::to_string(i) + " of " + cell_name(cells[i]),
               totals);
  }
  EXPECT_GT(totals.steps, 100);
}

std::string test_name(const ::testing::TestParamInfo<EngineProfile>& profile) {
  std::string name = engine_profile_name(profile.param);
  std::erase_if(name, [](char byte) { return byte == '-' || byte == '.'; });
  return name;
}

INSTANTIATE_TEST_SUITE_P(Profiles, ExplainFormulas, ::testing::ValuesIn(test::swept_profiles()),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Profiles, ExplainRandomFormulas,
                         ::testing::ValuesIn(test::swept_profiles()), test_name);

using test::ExplainedRun;
using test::SmallEngine;

struct Case {
  const char* name;
  SmallEngine engine;
  bool async_scheduling = false;
};

class ExplainEveryStep : public ::testing::TestWithParam<Case> {};

void expect_readable(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(text_width(line), kPageColumns) << line;
    EXPECT_FALSE(line.ends_with(' ')) << '"' << line << '"';
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
}

TEST_P(ExplainEveryStep, FitsThePageInEveryStep) {
  EngineConfig config = test::engine_config(GetParam().engine);
  config.async_scheduling = GetParam().async_scheduling;
  ExplainedRun run(config);
  run.add("A request with a name as long as names of requests can ever get", 30, 30, 24);
  run.add("B", 1, 12);
  for (std::int64_t step = 1; step <= 60 && run.engine().num_unfinished() > 0; ++step) {
    if (step == 4) run.add("C", 25, 9, 24);
    if (step == 5) {
      run.add("D", 40, 20, 24);
      ASSERT_TRUE(run.engine().apply(SetStepBudget{5}).ok());
    }
    const std::string text = run.step();
    expect_readable(text);
    EXPECT_TRUE(text.starts_with("Step " + std::to_string(step) + " at "));
    EXPECT_TRUE(text.ends_with("\n"));
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(run.engine().num_unfinished(), 0);
}

Case cases[] = {
    {"AlignMamba2", {.num_speculative_tokens = 2, .num_blocks = 40, .num_mamba_groups = 3}},
    {"AlignGdn", {.mamba_type = MambaType::gdn_attention, .num_speculative_tokens = 3}},
    {"AlignNgram",
     {.num_speculative_tokens = 2, .method = SpeculativeMethod::ngram, .num_blocks = 40}},
    {"AlignWithoutDrafts", {.mamba_type = MambaType::mamba1, .num_blocks = 24}},
    {"AsyncAlign", {.num_speculative_tokens = 2, .num_blocks = 40}, true},
    {"AsyncWithoutDrafts", {.num_blocks = 40}, true},
    {"AllMamba2", {.mode = MambaCacheMode::all, .num_speculative_tokens = 2}},
    {"AllWithoutDrafts", {.mode = MambaCacheMode::all, .num_mamba_groups = 2}},
    {"NoneGdn",
     {.mamba_type = MambaType::gdn_attention,
      .mode = MambaCacheMode::none,
      .num_speculative_tokens = 1}},
    {"ReferenceAlign",
     {.num_speculative_tokens = 3, .num_blocks = 40, .policies = reference_policies()}},
    {"ReferenceGdnNgram",
     {.mamba_type = MambaType::gdn_attention,
      .num_speculative_tokens = 2,
      .method = SpeculativeMethod::ngram,
      .policies = reference_policies()}},
    {"ReferenceAll",
     {.mode = MambaCacheMode::all, .num_speculative_tokens = 2, .policies = reference_policies()}},
};

INSTANTIATE_TEST_SUITE_P(Engines, ExplainEveryStep, ::testing::ValuesIn(cases),
                         [](const auto& example) { return example.param.name; });

}  // namespace

}  // namespace hybridscope::explain_formulas_test
