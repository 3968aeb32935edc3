#include "gui/model/next_step_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "core/engine/row_inputs_policies.h"
#include "gui/model/live_run.h"
#include "sessions/live/fork.h"

namespace hybridscope::next_step_model_test {
namespace {

TEST(NextStepModel, ListsRequestsThatAreStillThereWithTheCountsTheyCanAccept) {
  Workbench workbench;
  ASSERT_TRUE(workbench
                  .apply({"file.open", std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                           "/scenarios/align_boundary_by_accepted_drafts.json"})
                  .ok());
  const NextStepModel model = make_next_step_model(workbench);
  EXPECT_EQ(model.step, 2);
  ASSERT_EQ(model.requests.size(), 1u);
  EXPECT_EQ(model.requests[0].name, "A");
  EXPECT_TRUE(model.requests[0].runs);
  EXPECT_EQ(model.requests[0].max_num_accepted_tokens, 2);
  EXPECT_TRUE(model.undo.empty());
  EXPECT_GT(model.policies.size(), 5u);
  for (const EditablePolicy& policy : model.policies) EXPECT_GE(policy.values.size(), 2u);
}

// The step is made on a copy: it becomes known only when the run goes there, and does that.
TEST(NextStepModel, SaysWhatHappensIfOneJustSteps) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  EXPECT_THAT(make_next_step_model(workbench).coming,
              testing::ElementsAre("A: verify, 2 tokens, 1 draft among them"));
  EXPECT_EQ(workbench.run()->last_known_step(), 1);
  ASSERT_TRUE(workbench.apply({"run.step"}).ok());
  ASSERT_TRUE(workbench.apply({"run.step_back"}).ok());
  EXPECT_EQ(workbench.run()->last_known_step(), 2);
  EXPECT_THAT(make_next_step_model(workbench).coming,
              testing::ElementsAre("A: verify, 2 tokens, 1 draft among them"));
  ASSERT_TRUE(workbench.run()->go_to(1'000'000).ok());
  EXPECT_THAT(coming_words(workbench.run()->coming_step()),
              testing::ElementsAre("the run is over: there is no next step"));
}

// The budget of 6 tokens ends before C, which has blocks and runs on in step 5.
TEST(NextStepModel, ARunningRequestThatIsSkippedDoesNotWait) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:skipped_for_a_step"}).ok());
  ASSERT_TRUE(workbench.run()->go_to(3).ok());
  EXPECT_THAT(
      make_next_step_model(workbench).coming,
      testing::Contains("C: running, no tokens: too little of the token budget is left for it"));
}

// Selections, themes and other commands make the model anew, but the run has not moved.
TEST(NextStepModel, TheNextStepIsTriedOnceForEachShownStep) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  const auto looked_ahead = [&] {
    (void)make_next_step_model(workbench);
    return dynamic_cast<const LiveRun&>(*workbench.run()).num_looked_ahead();
  };
  EXPECT_EQ(looked_ahead(), 1);
  ASSERT_TRUE(workbench.apply({"select.request", "A"}).ok());
  EXPECT_EQ(looked_ahead(), 1);
  ASSERT_TRUE(workbench.apply({"run.step"}).ok());
  EXPECT_EQ(looked_ahead(), 2);
}

TEST(NextStepModel, AnEditChangesWhatHappens) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  ASSERT_EQ(make_next_step_model(workbench).coming.size(), 1u);
  ASSERT_TRUE(workbench.apply({"edit.add_request", "B 8 2"}).ok());
  const std::vector<std::string> coming = make_next_step_model(workbench).coming;
  ASSERT_EQ(coming.size(), 2u);
  EXPECT_EQ(coming[1], "B: prefill, 8 tokens, new");
}

TEST(NextStepModel, SaysWhatUndoWouldTakeBack) {
  Workbench workbench;
  ASSERT_TRUE(workbench
                  .apply({"file.open", std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                           "/scenarios/align_boundary_by_accepted_drafts.json"})
                  .ok());
  ASSERT_TRUE(workbench.apply({"edit.accept", "A 1"}).ok());
  EXPECT_EQ(make_next_step_model(workbench).undo, "accept 1 of A in step 2");
}

TEST(NextStepModel, OffersTheReleasesAndSaysWhatAChangeLeavesAsItWas) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:mixed_gdn_batch"}).ok());
  const NextStepModel before = make_next_step_model(workbench);
  std::vector<std::string> names;
  for (const EditableProfile& offered : before.profiles) names.push_back(offered.name);
  EXPECT_THAT(names,
              testing::ElementsAre("safe", "reference", "vllm-0.24.0", "vllm-0.25.1", "vllm-0.26.0",
                                   "vllm-0.27.1", "vllm-0.28.0", "vllm-0.29.0", "vllm-0.30.0",
                                   "vllm-0.31.0", "vllm-0.32.0", "vllm-0.33.0"));
  EXPECT_EQ(before.profile, "safe");
  EXPECT_EQ(before.profile_note, "");
  ASSERT_TRUE(workbench.apply({"edit.engine", "vllm-0.26.0"}).ok());
  const NextStepModel after = make_next_step_model(workbench);
  EXPECT_EQ(after.profile, "vllm-0.26.0");
  EXPECT_EQ(after.undo, "engine profile vllm-0.26.0 in step 2");
  EXPECT_THAT(
      after.profile_note,
      testing::StartsWith("step 2 changes the profile to vllm-0.26.0, but policies by which "
                          "blocks are cached or laid out cannot change while an engine "
                          "runs: "));
}

TEST(NextStepModel, ListsWhatTheScriptAndEditsPlanForTheStep) {
  Workbench workbench;
  for (const GuiCommand& command :
       {GuiCommand{"file.open", "shipped:mixed_gdn_batch"}, GuiCommand{"run.step"},
        GuiCommand{"run.step"}, GuiCommand{"run.step"}})
    ASSERT_TRUE(workbench.apply(command).ok());
  EXPECT_EQ(make_next_step_model(workbench).planned.budget, 8192);
  for (const GuiCommand& command : {GuiCommand{"edit.preempt", "B"}, GuiCommand{"edit.budget", "1"},
                                    GuiCommand{"edit.policy", "no_draft_step column_zero"},
                                    GuiCommand{"edit.engine", "reference"}})
    ASSERT_TRUE(workbench.apply(command).ok());
  const NextStepModel model = make_next_step_model(workbench);
  EXPECT_EQ(model.step, 5);
  EXPECT_EQ(model.planned.words,
            (std::vector<std::string>{"preempt B", "token budget 1", "engine profile reference",
                                      "policy no_draft_step column_zero"}));
  EXPECT_EQ(model.planned.budget, 1);
  EXPECT_EQ(model.planned.profile, EngineProfile::reference);
  for (const EditableRequest& request : model.requests)
    EXPECT_EQ(request.preempted, request.name == "B");
  for (const EditablePolicy& policy : model.policies)
    EXPECT_EQ(policy.value, policy.name == "no_draft_step" ? "column_zero" : "");
}

GuiCommand edit(std::string id, ForkAt change) {
  return {.id = std::move(id), .edit = std::make_shared<const ForkAt>(std::move(change))};
}

// Panels give changes as values, scripts and the palette as text.
TEST(NextStepModel, AnEditGivenAsAValuePlansWhatItsTextPlans) {
  Workbench by_value;
  Workbench by_text;
  for (Workbench* workbench : {&by_value, &by_text})
    for (const GuiCommand& command :
         {GuiCommand{"file.open", "shipped:mixed_gdn_batch"}, GuiCommand{"run.step"},
          GuiCommand{"run.step"}, GuiCommand{"run.step"}})
      ASSERT_TRUE(workbench->apply(command).ok());
  const NextStepModel model = make_next_step_model(by_value);
  const auto policy = std::ranges::find(model.policies, "no_draft_step", &EditablePolicy::name);
  ASSERT_NE(policy, model.policies.end());
  ASSERT_EQ(policy->values[1], "column_zero");
  for (const GuiCommand& command :
       {edit("edit.preempt", {.changes = {.preempt = {"B"}}}),
        edit("edit.budget", {.changes = {.budget = 5}}),
        edit("edit.policy", {.changes = {.policies = policy->with_value(1)}}),
        edit("edit.add_request",
             {.requests = {{.id = "new one", .prompt = {.tokens = 4}, .max_tokens = 2}}})})
    EXPECT_TRUE(by_value.apply(command).ok());
  for (const GuiCommand& command : {GuiCommand{"edit.preempt", "B"}, GuiCommand{"edit.budget", "5"},
                                    GuiCommand{"edit.policy", "no_draft_step column_zero"},
                                    GuiCommand{"edit.add_request", "\"new one\" 4 2"}})
    EXPECT_TRUE(by_text.apply(command).ok());
  EXPECT_EQ(make_next_step_model(by_value).planned.words,
            make_next_step_model(by_text).planned.words);
  EXPECT_EQ(by_value.run()->plan()->script, by_text.run()->plan()->script);
  EXPECT_EQ(by_value.run()->plan()->requests.size(), by_text.run()->plan()->requests.size());
  EXPECT_EQ(by_value.apply(edit("edit.budget", {.changes = {.budget = 0}})).error().message,
            "fork at step 5: budget: expected 1 to 16777216, found 0");
}

// A budget is of one step, a profile and policies stay.
TEST(NextStepModel, KnowsWhichPartOfThePlanLasts) {
  Workbench workbench;
  for (const GuiCommand& command :
       {GuiCommand{"file.open", "shipped:align_boundary_by_accepted_drafts"},
        GuiCommand{"edit.budget", "7"}, GuiCommand{"edit.engine", "reference"},
        GuiCommand{"edit.policy", "no_draft_step column_zero"}, GuiCommand{"run.step"}})
    ASSERT_TRUE(workbench.apply(command).ok());
  const PlannedStep planned = make_next_step_model(workbench).planned;
  EXPECT_EQ(planned.budget, 8192);
  EXPECT_EQ(planned.profile, EngineProfile::reference);
  PolicyOverrides expected;
  expected.set(NoDraftStep::column_zero);
  EXPECT_TRUE(planned.policies == expected);
  EXPECT_TRUE(planned.script.policies == PolicyOverrides{});
}

// The scenario's own script says what A accepts in step 2.
TEST(NextStepModel, RequestsThatJoinArePlanned) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  ASSERT_TRUE(workbench.apply({"edit.add_request", "late 12 3"}).ok());
  EXPECT_EQ(make_next_step_model(workbench).planned.words,
            (std::vector<std::string>{"request late joins (12 prompt tokens, max_tokens 3)",
                                      "accept 2 of A"}));
}

// When it joins depends on the run.
TEST(NextStepModel, ARequestThatWaitsForAnotherIsNotPlannedToJoin) {
  RunPlan plan;
  plan.requests = {
      {.request = {.name = "A", .prompt = {{.length = 4}}, .max_tokens = 2}},
      {.request = {.name = "B", .prompt = {{.length = 4}}, .max_tokens = 2}, .after = {"A"}}};
  EXPECT_EQ(planned_step(plan, 1).words,
            (std::vector<std::string>{"request A joins (4 prompt tokens, max_tokens 2)"}));
}

}  // namespace
}  // namespace hybridscope::next_step_model_test
