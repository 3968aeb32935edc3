#include "sessions/export/fault_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "sessions/known_bugs/bug_exhibit.h"
#include "sessions/scenario/known_bug_table.h"
#include "sessions/scenario/scenario_reader.h"

namespace hybridscope::fault_places_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Scenario faulty(const std::string& bug) {
  Scenario scenario = faulty_scenario(shipped_bug(bug).value());
  scenario.expect = {};
  return scenario;
}

std::vector<ExportedFault> faults(const Scenario& scenario) {
  return faults_of(scenario, "s.json", CheckScope::step).value();
}

TEST(FaultPlaces, APartIsToldByFileAndFunction) {
  EXPECT_EQ(part_of_function("v1/worker/gpu_input_batch.py, InputBatch.add_request").words,
            "the input batch");
  EXPECT_EQ(part_of_function("v1/worker/gpu_model_runner.py, GPUModelRunner._prepare_inputs").test,
            PartTest::runner_test);
  EXPECT_EQ(
      part_of_function("v1/worker/gpu_model_runner.py, GPUModelRunner._is_uniform_decode").test,
      PartTest::none);
  EXPECT_EQ(
      part_of_function("v1/core/single_type_kv_cache_manager.py, MambaManager.cache_blocks").test,
      PartTest::pytest);
  EXPECT_EQ(part_of_function("vLLM v1/core/sched/scheduler.py _mamba_block_aligned_split").test,
            PartTest::pytest);
  EXPECT_EQ(part_of_function("v1/core/sched/scheduler.py, Scheduler.schedule").words,
            "the scheduler");
  EXPECT_EQ(part_of_function("docs/trace-format.md, States").words, "a part without a test");
}

// How many of the catalogue's bugs each test runs the part of.
TEST(FaultPlaces, EveryKnownBugHasAPart) {
  std::map<PartTest, int> bugs;
  for (const KnownBug& bug : known_bug_table()) {
    const VllmPart part = part_of_function(shipped_bug(bug.id).value().function);
    EXPECT_NE(part.words, "a part without a test") << bug.id;
    ++bugs[part.test];
  }
  EXPECT_EQ(bugs[PartTest::pytest], 6);
  EXPECT_EQ(bugs[PartTest::runner_test], 8);
}

// C comes back in step 4 with a count of 1 instead of 2.
TEST(FaultPlaces, AFindingIsCausedByTheBugWhosePolicyIsSet) {
  const std::vector<ExportedFault> found = faults(faulty("skipped-step-forgets-accepted-count"));
  ASSERT_THAT(found, Not(IsEmpty()));
  EXPECT_EQ(found[0].rule, Rule::running_state_wrong);
  EXPECT_EQ(found[0].request, "C");
  EXPECT_EQ(found[0].first_step, 4);
  EXPECT_EQ(found[0].bug, "known bug 48");
  EXPECT_EQ(found[0].function, "v1/worker/gpu_input_batch.py, InputBatch.add_request");
}

// vLLM 0.33.0 has two dozen policies of known bugs; one of them causes it.
TEST(FaultPlaces, OfAllBugsOfAReleaseOneIsNamed) {
  Scenario scenario = faulty("skipped-step-forgets-accepted-count");
  scenario.settings.policies = {};
  scenario.settings.engine = parse_engine_profile("vllm-0.33.0").value();
  scenario.settings.runner = ModelRunner::v1;
  std::vector<std::string> bugs;
  for (const ExportedFault& fault : faults(scenario)) bugs.push_back(fault.bug);
  EXPECT_THAT(bugs, Contains("known bug 48"));
  EXPECT_THAT(fault_places(faults(scenario)), SizeIs(1));
}

TEST(FaultPlaces, ARunWithoutFindingsHasNone) {
  const std::string file = std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/plain_decode.json";
  EXPECT_THAT(faults(read_scenario_file(file).value()), IsEmpty());
}

TEST(FaultPlaces, ANoteSaysWhichTestRunsThePart) {
  const std::vector<ExportedFault> fault = {
      {.rule = Rule::running_state_wrong,
       .request = "C",
       .first_step = 4,
       .count = 3,
       .function = "v1/worker/gpu_input_batch.py, InputBatch.add_request",
       .bug = "known bug 48"}};
  EXPECT_THAT(
      fault_notes(fault, PartTest::pytest, true),
      ElementsAre("The fault behind running-state-wrong of C (step 4, 3 in all) lies in the input "
                  "batch (v1/worker/gpu_input_batch.py, InputBatch.add_request; known bug 48), "
                  "which this test does not run: it passes with the fault as well as without. The "
                  "test of hybridscope export --as runner-test runs it."));
  EXPECT_THAT(fault_notes(fault, PartTest::pytest, false),
              ElementsAre(HasSubstr("Only a runner test runs it, which these settings do not")));
  EXPECT_THAT(fault_notes(fault, PartTest::runner_test, true), IsEmpty());
}

TEST(FaultPlaces, NoTestRunsKernels) {
  const std::vector<ExportedFault> fault = {
      {.rule = Rule::label_mismatch,
       .first_step = 2,
       .count = 1,
       .function = "model_executor/layers/mamba/ops/causal_conv1d.py, causal_conv1d_update"}};
  EXPECT_THAT(fault_notes(fault, PartTest::runner_test, true),
              ElementsAre("The fault behind label-mismatch (step 2) lies in the model's layers and "
                          "kernels (model_executor/layers/mamba/ops/causal_conv1d.py, "
                          "causal_conv1d_update), which this test does not run: it passes with the "
                          "fault as well as without. No exported test runs it."));
}

}  // namespace
}  // namespace hybridscope::fault_places_test
