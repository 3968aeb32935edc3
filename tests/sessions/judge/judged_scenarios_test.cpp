// A run and the judgement of its trace: the same findings, in every shipped scenario. Profiles and
// policies under which kernels or persistent buffers misbehave are not compared: a trace does not
// say what kernels do (docs/trace-format.md).

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/check/finding.h"
#include "core/model/model_policies.h"
#include "core/numeric/hybrid_model.h"
#include "sessions/explain/explain_finding.h"
#include "sessions/explain/explain_names.h"
#include "sessions/judge/judged_trace.h"
#include "sessions/judge/trace_writer.h"
#include "sessions/run/checked_run.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/text/input_file.h"
#include "sessions/weights/load_model.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/property.h"

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

// A language model on the decisions of recorded engines: it holds what lone runs hold, except where
// the judge finds a fault too. HYBRIDSCOPE_TIMES=100 takes the files whole.

LanguageModel model() {
  auto loaded = load_model(HYBRIDSCOPE_SOURCE_DIR "/tests/golden/numeric/model_qwen3_5_text");
  return {.folder = "model_qwen3_5_text",
          .model = std::make_shared<const HybridModel>(std::move(loaded).value().model)};
}

const int kTraces = static_cast<int>(test::num_cases(4));

struct Found {
  int traces = 0;
  int with_numbers = 0;      // traces with a finding about states or logits
  std::string only_numbers;  // such a finding of a trace in which nothing else is wrong
};

// The first `most` traces of the file.
Found judge_file(const std::string& file, int most) {
  Found found;
  LineSource source = LineSource::open(HYBRIDSCOPE_SOURCE_DIR "/tests/recordings/" + file).value();
  JudgedTrace trace(file, CheckScope::step, {}, model());
  std::string numbers;
  bool other = false;
  const auto end_trace = [&] {
    found.with_numbers += numbers.empty() ? 0 : 1;
    if (!numbers.empty() && !other) found.only_numbers = numbers;
    numbers.clear();
    other = false;
  };
  std::int64_t number = 0;
  for (auto line = source.next(); line.value(); line = source.next()) {
    const auto taken = trace.take(line.value()->text, ++number);
    if (!taken.ok()) {
      ADD_FAILURE() << taken.error().message;
      break;
    }
    if (taken.value().kind == TraceLine::header) {
      end_trace();
      if (found.traces == most) return found;
      ++found.traces;
    }
    if (!taken.value().step) continue;
    for (const Finding& finding : taken.value().step->findings) {
      const RuleInfo& rule = rule_info(finding.rule);
      if (rule.evidence == Evidence::numbers)
        numbers =
            "step " + std::to_string(finding.step) + ": " + explain_finding(finding, trace.names());
      else
        other = other || rule.severity == Severity::error;
    }
  }
  end_trace();
  return found;
}

// Runner V2 of 0.33.0.
TEST(JudgedLanguage, AHealthyEngineHoldsWhatLoneRunsHold) {
  const Found found = judge_file("0.33.0_v2.jsonl.zst", kTraces);
  EXPECT_GT(found.traces, 0);
  EXPECT_EQ(found.with_numbers, 0) << found.only_numbers;
}

TEST(JudgedLanguage, StatesAreWrongWhereTheJudgeFindsAFault) {
  const Found found = judge_file("0.33.0.jsonl.zst", 2 * kTraces);
  EXPECT_GT(found.with_numbers, 0);
  EXPECT_EQ(found.only_numbers, "");
}

}  // namespace

}  // namespace hybridscope::test::judged_scenarios_test
