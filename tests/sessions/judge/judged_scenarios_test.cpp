// A run and the judgement of its trace: the same findings, in every shipped scenario. Profiles and
// policies under which kernels or persistent buffers misbehave are not compared: a trace does not
// say what kernels do (docs/trace-format.md).
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/check/finding.h"
#include "core/model/checkpoint_layers.h"
#include "sessions/explain/explain_names.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/judge/compared_run.h"

namespace hybridscope::test::judged_scenarios_test {
namespace {

using nlohmann::json;
using testing::ElementsAreArray;

std::string words(const Finding& finding, const Names& names) {
  const auto name = [&](RequestId id) {
    return id.value < 0 ? std::string("-") : names.request(id);
  };
  return fmt::format(
      "{} step {} {} row {} group {} content {} column {} block {}: expected {}, seen {} {} | "
      "cause "
      "{} step {} {} {}",
      rule_info(finding.rule).slug, finding.step, name(finding.request), finding.row, finding.group,
      static_cast<int>(finding.content), finding.column, finding.block, finding.expected,
      finding.seen, finding.detail, static_cast<int>(finding.cause.kind), finding.cause.step,
      name(finding.cause.request), finding.cause.num_tokens);
}

struct Compared {
  std::vector<std::string> run;     // findings
  std::vector<std::string> judged;  // of the run's own trace
  std::string error;                // of the judge
  std::vector<json> lines;
  PolicySet policies;
};

// Runs the scenario, and judges each line of its trace as soon as it is there.
Compared run_and_judge(const Scenario& scenario) {
  CheckedRun run =
      CheckedRun::create(plan_scenario(scenario, "s.json").value(), {.check = CheckScope::all})
          .value();
  const Engine& engine = run.engine();
  TraceWriter writer(engine.config(), traced_requests_of(engine));
  const Names names = make_names(engine);
  JudgedTrace trace("t.jsonl", CheckScope::all);
  Compared compared;
  compared.policies = engine.config().policies;
  const auto judge = [&](const std::string& line) {
    compared.lines.push_back(json::parse(line));
    const auto taken =
        trace.take(std::string_view(line), static_cast<std::int64_t>(compared.lines.size()));
    if (!taken.ok()) compared.error = taken.error().message;
    if (!taken.ok() || !taken.value().step) return;
    for (const Finding& finding : taken.value().step->findings)
      compared.judged.push_back(words(finding, trace.names()));
  };
  judge(writer.header(scenario.name, scenario.settings.policies));
  while (!run.has_ended() && compared.error.empty()) {
    const CheckedStep step = run.step().value();
    // A script that asks for what cannot be is not the engine's fault, and in no trace.
    for (const Finding& finding : step.findings)
      if (finding.rule != Rule::expectation_unused) compared.run.push_back(words(finding, names));
    judge(writer.step(step.trace));
  }
  return compared;
}

json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return json::parse(file);
}

std::string path_of(const std::string& name) {
  return fmt::format("{}/scenarios/{}.json", HYBRIDSCOPE_SOURCE_DIR, name);
}

Scenario scenario_of_lesson(const std::string& name) {
  const std::string file = path_of("lessons/" + name);
  return parse_scenario({.text = read_json(file)["scenario"].dump(), .file = file}).value();
}

std::vector<std::string> shipped_scenarios() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios"))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

void expect_same_findings(const Scenario& scenario, const std::string& what) {
  const Compared compared = run_and_judge(scenario);
  EXPECT_EQ(compared.error, "") << what;
  EXPECT_THAT(compared.judged, ElementsAreArray(compared.run)) << what;
}

class JudgedScenarios : public testing::TestWithParam<std::string> {};

TEST_P(JudgedScenarios, HaveTheFindingsOfTheirRun) {
  Scenario scenario = read_scenario_file(path_of(GetParam())).value();
  expect_same_findings(scenario, "as shipped");
  if (scenario.settings.speculative_method == SpeculativeMethod::ngram) return;  // never async
  scenario.settings.async_scheduling = scenario.settings.async_scheduling == false;
  expect_same_findings(scenario, "with the other scheduling");
}

// Few states stay cached, hashes look ahead, and with settings hits end inside blocks and prefills
// store states on their way.
TEST_P(JudgedScenarios, HaveTheFindingsOfTheirRunInTheNewestRelease) {
  Scenario scenario = read_scenario_file(path_of(GetParam())).value();
  if (scenario.settings.mamba_cache_mode == MambaCacheMode::all) return;  // 0.32.0 removed it
  scenario.settings.engine = parse_engine_profile("vllm-0.33.0").value();
  if (scenario.settings.speculative_method != SpeculativeMethod::ngram)
    scenario.settings.runner = ModelRunner::v2;
  if (scenario.settings.num_gpu_blocks_override)
    *scenario.settings.num_gpu_blocks_override += 2;  // a state inside a prefill is a block more
  expect_same_findings(scenario, "0.33.0");
  if (scenario.settings.mamba_cache_mode != MambaCacheMode::align) return;
  scenario.settings.num_gpu_blocks_override = 64;  // a copy is a block more
  scenario.settings.prefix_match_unit = 2;
  scenario.settings.policies.set(CheckpointLayers::mamba2_and_gdn);
  scenario.settings.gdn_prefill_backend = GdnPrefillBackend::flashinfer;
  expect_same_findings(scenario, "0.33.0, hashes of 2 tokens, states inside prefills");
}

// What a script tells the engine is in the trace, so that the engine decides the same again.
void expect_no_difference(Scenario scenario, const std::string& what) {
  scenario.settings.runner = ModelRunner::v1;  // the only one that is compared
  const Compared compared = run_and_judge(scenario);
  EXPECT_EQ(compared.error, "") << what;
  EXPECT_EQ(first_difference(compared.lines, compared.policies), "") << what;
}

TEST_P(JudgedScenarios, DifferInNothingFromTheEngineThatRanThem) {
  Scenario scenario = read_scenario_file(path_of(GetParam())).value();
  expect_no_difference(scenario, "as shipped");
  if (scenario.settings.speculative_method == SpeculativeMethod::ngram) return;  // never async
  scenario.settings.async_scheduling = scenario.settings.async_scheduling == false;
  expect_no_difference(scenario, "with the other scheduling");
}

// As `judge --engine` compares: all that it has of the run is the trace and the profile's name.
TEST_P(JudgedScenarios, DifferInNothingFromTheProfileTheyRanUnder) {
  Scenario scenario = read_scenario_file(path_of(GetParam())).value();
  scenario.settings.runner = ModelRunner::v1;  // the only one that is compared
  for (const EngineProfile& profile : {EngineProfile::safe, EngineProfile::reference}) {
    scenario.settings.engine = profile;
    const Compared compared = run_and_judge(scenario);
    EXPECT_EQ(compared.error, "");
    EXPECT_EQ(first_difference(compared.lines, profile), "");
  }
}

TEST(JudgedBugsAndLessons, DifferInNothingFromTheEngineThatRanThem) {
  for (const char* folder : {"bugs", "lessons"})
    for (const auto& entry : std::filesystem::directory_iterator(
             fmt::format("{}/scenarios/{}", HYBRIDSCOPE_SOURCE_DIR, folder))) {
      const json file = read_json(entry.path());
      if (!file.contains("scenario") || !file["scenario"].is_object()) continue;  // one of above
      const auto scenario =
          parse_scenario({.text = file["scenario"].dump(), .file = entry.path().string()});
      ASSERT_TRUE(scenario.ok()) << scenario.error().message;
      expect_no_difference(scenario.value(), entry.path().stem().string());
    }
}

INSTANTIATE_TEST_SUITE_P(Shipped, JudgedScenarios, testing::ValuesIn(shipped_scenarios()),
                         [](const auto& name) { return name.param; });

std::size_t count_of(const Compared& compared, const std::string& pointer) {
  std::size_t count = 0;
  for (const json& line : compared.lines) {
    const json::json_pointer place(pointer);
    if (line.contains(place)) count += line[place].size();
  }
  return count;
}

TEST(JudgedLessons, CopiesOfBlocksAreJudged) {
  const Compared compared = run_and_judge(scenario_of_lesson("hits_inside_blocks"));
  EXPECT_EQ(compared.error, "");
  EXPECT_THAT(compared.judged, ElementsAreArray(compared.run));
  // A's tail for the prefix cache in two recurrent groups, then for B the tail in all three.
  EXPECT_EQ(count_of(compared, "/scheduler_output/kv_cache_block_copies"), 5U);
}

TEST(JudgedLessons, StatesInsidePrefillsAreJudged) {
  const Compared compared = run_and_judge(scenario_of_lesson("prefill_checkpoints"));
  EXPECT_EQ(compared.error, "");
  EXPECT_THAT(compared.judged, ElementsAreArray(compared.run));
  EXPECT_GE(count_of(compared, "/prefill_checkpoints"), 2U);  // of A and C
}

}  // namespace
}  // namespace hybridscope::test::judged_scenarios_test
