// The files under scenarios/ and the examples of the format's document.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/base/policy_set.h"
#include "sessions/run/twin.h"
#include "sessions/scenario/scenario_reader.h"
#include "sessions/scenario/scenario_requests.h"
#include "sessions/scenario/settings_table.h"
#include "sessions/text/json_reader.h"
#include "tests/sessions/run/scenario_run.h"

namespace hybridscope::shipped_scenarios_test {
namespace {

const std::string kRoot = HYBRIDSCOPE_SOURCE_DIR;

std::vector<std::string> scenario_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios"))
    if (entry.path().extension() == ".json") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

// Fenced JSON blocks of docs/scenario-format.md that hold a scenario.
std::vector<std::string> document_examples() {
  const std::string text = read_text_file(kRoot + "/docs/scenario-format.md").value();
  std::vector<std::string> examples;
  const std::string fence = "```json\n";
  for (std::size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at + 1)) {
    const std::size_t first = at + fence.size();
    const std::string block = text.substr(first, text.find("```", first) - first);
    if (block.find("\"version\"") != std::string::npos) examples.push_back(block);
  }
  return examples;
}

TEST(ShippedScenarios, AreAtLeastTwelve) { EXPECT_GE(scenario_files().size(), 12U); }

TEST(ShippedScenarios, TeachOneSentenceAndExpectNoErrors) {
  for (const std::string& file : scenario_files()) {
    const auto scenario = read_scenario_file(file);
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    const Scenario& s = scenario.value();
    EXPECT_GT(s.teaches.size(), 40U) << file;
    EXPECT_TRUE(s.teaches.ends_with('.')) << file;
    std::string name = s.name;
    std::replace(name.begin(), name.end(), ' ', '_');
    EXPECT_EQ(name, std::filesystem::path(file).stem()) << file;
    ASSERT_TRUE(s.expect.findings) << file;
    for (const ExpectedFinding& finding : *s.expect.findings)
      EXPECT_EQ(finding.rule, "drafts-cut") << file;  // a warning
    // They show what the reference or a release does: the state that the first leaves is never
    // read, and profile safe has no layers that store a state inside a prefill.
    if (s.name != "padded one token prompt" && s.name != "state inside a prefill") {
      EXPECT_EQ(resolve_policies(s.settings), safe_policies()) << file;
    }
    EXPECT_TRUE(resolve_requests(s).ok()) << file;
  }
}

TEST(ShippedScenarios, ReadBackEqualAfterWriting) {
  for (const std::string& file : scenario_files()) {
    const Scenario scenario = read_scenario_file(file).value();
    EXPECT_EQ(parse_scenario({.text = write_scenario(scenario), .file = file}).value(), scenario);
  }
}

TEST(ScenarioDocument, ExamplesAreScenariosAndTheFirstHas15Lines) {
  const std::vector<std::string> examples = document_examples();
  ASSERT_FALSE(examples.empty());
  for (const std::string& example : examples) {
    const auto scenario = parse_scenario({.text = example, .file = "docs/scenario-format.md"});
    EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  }
  EXPECT_LE(std::count(examples[0].begin(), examples[0].end(), '\n'), 15);
}

// Every shipped scenario on the engine, under the checker: clean, and it does what it teaches.

using test::ScenarioRun;

std::string file_of(const std::string& name) {
  return std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
}

Scenario scenario_of(const std::string& name) {
  Result<Scenario> scenario = read_scenario_file(file_of(name));
  EXPECT_TRUE(scenario.ok()) << scenario.error().message;
  return std::move(scenario).value();
}

// What the traces of a run must show.
struct Facts {
  std::int64_t num_steps = 0;
  std::map<std::string, std::int32_t> hit_tokens = {};
  std::int32_t num_preempted = 0;
  std::int32_t num_evicted = 0;
  std::int32_t num_boundary_copies = 0;
  std::int32_t num_within_block_shifts = 0;
  std::int32_t num_padding_rows = 0;
  std::vector<std::string> warnings = {};
};

const std::map<std::string, Facts> kFacts = {
    {"plain_decode", {.num_steps = 4, .hit_tokens = {{"A", 0}}}},
    {"chunked_prefill", {.num_steps = 6, .hit_tokens = {{"A", 0}}}},
    {"align_boundary_by_prefill", {.num_steps = 6, .hit_tokens = {{"A", 0}, {"B", 16}}}},
    {"align_boundary_by_decode", {.num_steps = 8, .hit_tokens = {{"A", 0}, {"B", 8}}}},
    {"align_boundary_by_accepted_drafts",
     {.num_steps = 3,
      .hit_tokens = {{"A", 0}},
      .num_boundary_copies = 1,
      .num_within_block_shifts = 1}},
    {"shared_prefix_align", {.num_steps = 7, .hit_tokens = {{"A", 0}, {"B", 16}, {"C", 0}}}},
    {"shared_prefix_all",
     {.num_steps = 6, .hit_tokens = {{"A", 0}, {"B", 16}, {"C", 8}}, .num_padding_rows = 2}},
    {"eviction_under_pressure",
     {.num_steps = 9, .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 0}}, .num_evicted = 6}},
    {"preemption_and_resume",
     {.num_steps = 20, .hit_tokens = {{"A", 0}, {"B", 0}}, .num_preempted = 1, .num_evicted = 13}},
    {"prefix_cache_reset",
     {.num_steps = 11, .hit_tokens = {{"A", 0}, {"B", 16}}, .num_preempted = 1, .num_evicted = 3}},
    {"graph_padding",
     {.num_steps = 5, .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 0}}, .num_padding_rows = 4}},
    {"mixed_gdn_batch",
     {.num_steps = 7, .hit_tokens = {{"A", 0}, {"B", 0}}, .num_boundary_copies = 3}},
    {"state_inside_a_prefill", {.num_steps = 6, .hit_tokens = {{"A", 0}, {"B", 24}}}},
    {"steps_without_drafts",
     {.num_steps = 5,
      .hit_tokens = {{"A", 0}},
      .warnings = {"drafts-cut step 3 request 0: expected 3, seen 0 "}}},
    {"async_worked_example",
     {.num_steps = 5,
      .hit_tokens = {{"A", 0}, {"B", 0}},
      .num_boundary_copies = 3,
      .num_within_block_shifts = 1}},
    {"trimmed_draft_lists",
     {.num_steps = 6,
      .hit_tokens = {{"A", 0}, {"B", 0}},
      .num_boundary_copies = 4,
      .num_within_block_shifts = 1,
      .warnings = {"drafts-cut step 3 request 1: expected 3, seen 1 "}}},
    {"budget_cuts_drafts_to_zero",
     {.num_steps = 6,
      .hit_tokens = {{"A", 0}, {"B", 0}},
      .num_boundary_copies = 2,
      .warnings = {"drafts-cut step 3 request 1: expected 2, seen 0 "}}},
    {"skipped_for_a_step",
     {.num_steps = 8,
      .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 0}, {"D", 0}, {"E", 0}},
      .num_boundary_copies = 7,
      .num_within_block_shifts = 2,
      .num_padding_rows = 8}},
    {"padded_one_token_prompt",
     {.num_steps = 8, .hit_tokens = {{"A", 0}, {"B", 0}}, .num_boundary_copies = 1}},
    {"several_groups",
     {.num_steps = 8,
      .hit_tokens = {{"A", 0}, {"B", 0}},
      .num_boundary_copies = 1,
      .num_within_block_shifts = 1}},
    {"groups_of_different_block_size", {.num_steps = 5, .hit_tokens = {{"A", 0}, {"B", 0}}}},
    {"v2_slots",
     {.num_steps = 6,
      .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 0}},
      .num_boundary_copies = 4,
      .num_within_block_shifts = 3}},
    {"graph_row_padding_v2",
     {.num_steps = 4,
      .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 0}},
      .num_boundary_copies = 3,
      .num_padding_rows = 3}},
    {"starved_request",
     {.num_steps = 7,
      .hit_tokens = {{"A", 0}, {"C", 0}},
      .num_boundary_copies = 3,
      .num_within_block_shifts = 2}},
    {"one_token_left_after_a_hit",
     {.num_steps = 10,
      .hit_tokens = {{"A", 0}, {"B", 8}, {"Z", 0}},
      .num_boundary_copies = 2,
      .num_within_block_shifts = 1}},
    {"prompt_as_long_as_a_verify_window", {.num_steps = 8, .hit_tokens = {{"A", 0}, {"B", 0}}}},
    {"one_token_prompt", {.num_steps = 6, .hit_tokens = {{"A", 0}, {"Z", 0}}}},
    {"two_prompts_share_a_budget",
     {.num_steps = 12,
      .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 16}},
      .num_boundary_copies = 2,
      .num_within_block_shifts = 2}},
    {"all_mode_boundary_by_accepted_drafts",
     {.num_steps = 6, .hit_tokens = {{"A", 0}}, .num_boundary_copies = 2}},
    {"all_mode_rows_with_drafts",
     {.num_steps = 11,
      .hit_tokens = {{"A", 0}, {"B", 0}, {"C", 8}},
      .num_boundary_copies = 4,
      .num_within_block_shifts = 2}},
    {"multi_turn_with_drafts",
     {.num_steps = 9,
      .hit_tokens = {{"A", 0}, {"B", 8}},
      .num_boundary_copies = 4,
      .num_within_block_shifts = 3}},
};

TEST(ShippedScenarios, EachHasItsFacts) {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_TRUE(kFacts.contains(entry.path().stem().string())) << entry.path();
  }
}

TEST(ShippedScenarios, RunCleanAndDoWhatTheyTeach) {
  for (const auto& [name, facts] : kFacts) {
    SCOPED_TRACE(name);
    const Scenario scenario = scenario_of(name);
    const ScenarioRun run = test::run_scenario(scenario);
    EXPECT_EQ(run.findings, facts.warnings);
    EXPECT_EQ(run.num_finished, scenario.expect.finished);
    EXPECT_EQ(run.num_ignored_commands, 0);
    EXPECT_EQ(run.num_idle_steps, 0);
    EXPECT_EQ(run.num_steps, facts.num_steps);
    EXPECT_EQ(run.hit_tokens, facts.hit_tokens);
    EXPECT_EQ(run.num_preempted, facts.num_preempted);
    EXPECT_EQ(run.num_evicted, facts.num_evicted);
    EXPECT_EQ(run.num_boundary_copies, facts.num_boundary_copies);
    EXPECT_EQ(run.num_within_block_shifts, facts.num_within_block_shifts);
    EXPECT_EQ(run.num_padding_rows, facts.num_padding_rows);
  }
}

struct TwinFact {
  const char* scenario;
  TwinReason reason;
  std::int64_t first_step;  // 0: block ids never differ
};

class ScenarioTwins : public testing::TestWithParam<TwinFact> {};

TEST_P(ScenarioTwins, AgreeInTokensAndCountsAndDifferInBlocksForTheReasonGiven) {
  const Twins twins = run_twins(scenario_of(GetParam().scenario), GetParam().scenario).value();
  EXPECT_EQ(twins.comparison.output_difference, "");
  EXPECT_EQ(twins.comparison.count_difference, "");
  EXPECT_EQ(twins.base.num_findings + twins.twin.num_findings, 0);
  EXPECT_EQ(twin_reason_name(twins.comparison.reason), twin_reason_name(GetParam().reason));
  EXPECT_EQ(twins.comparison.first_step, GetParam().first_step);
}

INSTANTIATE_TEST_SUITE_P(
    ShippedScenarios, ScenarioTwins,
    testing::Values(TwinFact{"async_worked_example", TwinReason::drafts_in_flight, 3},
                    TwinFact{"trimmed_draft_lists", TwinReason::drafts_in_flight, 3},
                    TwinFact{"steps_without_drafts", TwinReason::never_differ, 0},
                    TwinFact{"budget_cuts_drafts_to_zero", TwinReason::ended_a_frame_later, 6},
                    TwinFact{"skipped_for_a_step", TwinReason::ended_a_frame_later, 3},
                    TwinFact{"padded_one_token_prompt", TwinReason::ended_a_frame_later, 4},
                    TwinFact{"several_groups", TwinReason::drafts_in_flight, 3},
                    TwinFact{"groups_of_different_block_size", TwinReason::drafts_in_flight, 3}),
    [](const auto& fact) { return std::string(fact.param.scenario); });

// The scheduler does not know the runner.
TEST(ShippedScenarios, TheRunnerChangesNoBlockIds) {
  for (const char* name : {"v2_slots", "graph_row_padding_v2"}) {
    const Twins twins = run_twins(scenario_of(name), name).value();
    EXPECT_EQ(twins.base.runner, ModelRunner::v2) << name;
    EXPECT_EQ(twins.twin.runner, ModelRunner::v1) << name;
    EXPECT_EQ(twins.comparison.first_step, 0) << name;
    if (name == std::string("v2_slots")) {
      EXPECT_EQ(
          twins.comparison.sentence,
          "Block ids never differ, only the batch does: in frame 3 V2 has the rows [A in slot "
          "3, C in slot 1, B in slot 2] and V1 has [A, B, C].");
    }
    EXPECT_TRUE(twins.agree()) << name;
    EXPECT_EQ(twins.base.num_findings + twins.twin.num_findings, 0) << name;
  }
}

std::string step_of(const std::string& name, std::size_t step) {
  return test::run_scenario(scenario_of(name)).steps[step - 1];
}

TEST(ShippedScenarios, ShowTheStepThatTheirSentenceIsAbout) {
  EXPECT_EQ(step_of("align_boundary_by_accepted_drafts", 2), "A verify 6+2 d1 a2");
  EXPECT_EQ(step_of("chunked_prefill", 2), "A prefill 8+8 d0 a0");
  EXPECT_EQ(step_of("mixed_gdn_batch", 3), "A verify 7+3 d2 a3 | B prefill 0+8 d0 a0");
  EXPECT_EQ(step_of("steps_without_drafts", 3), "A verify 8+1 d0 a1");
  EXPECT_EQ(step_of("starved_request", 3), "A verify 7+2 d1 a1");
  EXPECT_EQ(step_of("one_token_left_after_a_hit", 4), "A verify 8+4 d3 a4 | B prefill 8+1 d0 a1");
  EXPECT_EQ(step_of("prompt_as_long_as_a_verify_window", 5), "B prefill 0+3 d0 a1");
  EXPECT_EQ(step_of("two_prompts_share_a_budget", 1), "A prefill 0+10 d0 a1");
  EXPECT_EQ(step_of("all_mode_boundary_by_accepted_drafts", 3), "A verify 7+4 d3 a2");
}

struct Fault {
  const char* scenario;
  const char* policy;
  const char* value;    // what the reference does
  std::string finding;  // one of the findings that appear
};

class ScenarioFaults : public testing::TestWithParam<Fault> {};

TEST_P(ScenarioFaults, AppearWithTheReferencesPolicy) {
  Scenario scenario = scenario_of(GetParam().scenario);
  ASSERT_TRUE(set_setting_text(scenario.settings, *find_setting("policies", GetParam().policy),
                               GetParam().value)
                  .ok());
  EXPECT_THAT(test::run_scenario(scenario).findings,
              testing::Contains(testing::StartsWith(GetParam().finding)));
}

INSTANTIATE_TEST_SUITE_P(
    ShippedScenarios, ScenarioFaults,
    testing::Values(
        Fault{"starved_request", "accepted_count_owner", "persistent_row",
              "running-state-wrong step 4 request 1: expected 4, seen 3"},
        Fault{"steps_without_drafts", "no_draft_step", "column_zero",
              "running-state-wrong step 3 request 0: expected 8, seen 6"},
        Fault{"two_prompts_share_a_budget", "aligned_split", "until_last_cache_position",
              "label-mismatch step 2 request 1: expected 8, seen 6"},
        Fault{"one_token_left_after_a_hit", "one_token_prompt", "padded_with_placeholders",
              "running-state-wrong step 5 request 2: expected 9, seen 12"},
        Fault{"one_token_prompt", "row_classing", "by_shape", "read-of-unwritten-block step 4"},
        Fault{"prompt_as_long_as_a_verify_window", "uniform_decode_test", "by_shape",
              "stale-persistent-array step 5"},
        Fault{"all_mode_boundary_by_accepted_drafts", "all_mode_speculation",
              "full_steps_remembered_no_copies",
              "label-mismatch step 4 request 0: expected 8, seen 5"},
        Fault{"multi_turn_with_drafts", "mamba_eagle_lookahead", "longer_limit",
              "hit-longer-than-group step 6 request 1: expected 12, seen 8"}),
    [](const auto& fault) { return std::string(fault.param.scenario); });

}  // namespace

}  // namespace hybridscope::shipped_scenarios_test
