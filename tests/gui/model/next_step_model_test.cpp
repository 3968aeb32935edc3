#include "gui/model/next_step_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/row_inputs_policies.h"
#include "gui/model/live_run.h"
#include "gui/model/workbench.h"

namespace hybridscope::next_step_model_test {
namespace {

// The table whose title begins so.
Table table_of(Workbench& workbench, std::string_view title) {
  const Picture picture = next_step_picture(workbench);
  const auto found = std::ranges::find_if(
      picture.tables, [&](const Table& table) { return table.title.starts_with(title); });
  return found == picture.tables.end() ? Table{} : *found;
}
std::vector<std::string> coming_in(Workbench& workbench) {
  std::vector<std::string> lines;
  for (const TableRow& row : table_of(workbench, "If you just step").rows)
    lines.push_back(shown_words(row.cells[0]));
  return lines;
}
PictureButton undo_in(Workbench& workbench) { return next_step_picture(workbench).buttons[0]; }
PlannedStep planned_in(Workbench& workbench) {
  return planned_step(*workbench.run()->plan(), workbench.run()->step() + 1);
}
std::string profile_in(Workbench& workbench) {
  return shown_words(table_of(workbench, "Engine profile").rows.at(0).cells[1]);
}

TEST(NextStepModel, ListsRequestsThatAreStillThereWithTheCountsTheyCanAccept) {
  Workbench workbench;
  ASSERT_TRUE(workbench
                  .apply({"file.open", std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                           "/scenarios/align_boundary_by_accepted_drafts.json"})
                  .ok());
  EXPECT_EQ(table_of(workbench, "Planned").title, "Planned for step 2");
  const Table requests = table_of(workbench, "Requests");
  ASSERT_EQ(requests.rows.size(), 1u);
  const std::vector<TableCell>& cells = requests.rows[0].cells;
  std::vector<std::string> words;
  for (const TableCell& cell : cells) words.push_back(shown_words(cell));
  // The scenario's script accepts two.
  EXPECT_THAT(words, testing::ElementsAre("A", "yes", "no", "yes", "no", "no"));
  EXPECT_EQ(requests.headings[3].title, "Accept 2");
  const std::vector<Click>& clicks = cells[2].extras->clicks;
  ASSERT_EQ(clicks.size(), 1u);
  ASSERT_TRUE(workbench.apply({std::string(clicks[0].command), clicks[0].argument}).ok());
  EXPECT_EQ(shown_words(table_of(workbench, "Requests").rows[0].cells[2]), "yes");
}

TEST(NextStepModel, APolicyIsChosenFromAList) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:mixed_gdn_batch"}).ok());
  EXPECT_FALSE(undo_in(workbench).is_possible);
  const Table policies = table_of(workbench, "Policies");
  EXPECT_GT(policies.rows.size(), 5u);
  for (const TableRow& row : policies.rows) EXPECT_GE(row.cells[1].extras->choices.size(), 2u);
  const Choice& last = policies.rows[0].cells[1].extras->choices.back();
  EXPECT_EQ(shown_words(policies.rows[0].cells[1]), "as the profile says");
  ASSERT_TRUE(workbench.apply({std::string(last.click.command), last.click.argument}).ok());
  EXPECT_EQ(shown_words(table_of(workbench, "Policies").rows[0].cells[1]), last.words);
}

// The step is made on a copy: it becomes known only when the run goes there, and does that.
TEST(NextStepModel, SaysWhatHappensIfOneJustSteps) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  EXPECT_THAT(coming_in(workbench),
              testing::ElementsAre("A: verify, 2 tokens, 1 draft among them"));
  EXPECT_EQ(workbench.run()->last_known_step(), 1);
  ASSERT_TRUE(workbench.apply({"run.step"}).ok());
  ASSERT_TRUE(workbench.apply({"run.step_back"}).ok());
  EXPECT_EQ(workbench.run()->last_known_step(), 2);
  EXPECT_THAT(coming_in(workbench),
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
      coming_in(workbench),
      testing::Contains("C: running, no tokens: too little of the token budget is left for it"));
}

// Selections, themes and other commands make the model anew, but the run has not moved.
TEST(NextStepModel, TheNextStepIsTriedOnceForEachShownStep) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:align_boundary_by_accepted_drafts"}).ok());
  const auto looked_ahead = [&] {
    (void)next_step_picture(workbench);
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
  ASSERT_EQ(coming_in(workbench).size(), 1u);
  ASSERT_TRUE(workbench.apply({"edit.add_request", "B 8 2"}).ok());
  const std::vector<std::string> coming = coming_in(workbench);
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
  EXPECT_EQ(undo_in(workbench).tooltip, "accept 1 of A in step 2");
}

TEST(NextStepModel, OffersTheReleasesAndSaysWhatAChangeLeavesAsItWas) {
  Workbench workbench;
  ASSERT_TRUE(workbench.apply({"file.open", "shipped:mixed_gdn_batch"}).ok());
  const Table before = table_of(workbench, "Engine profile");
  std::vector<std::string> names;
  for (const Choice& choice : before.rows.at(0).cells[1].extras->choices)
    names.push_back(choice.words);
  EXPECT_THAT(names,
              testing::ElementsAre("safe", "reference", "vllm-0.24.0", "vllm-0.25.1", "vllm-0.26.0",
                                   "vllm-0.27.1", "vllm-0.28.0", "vllm-0.29.0", "vllm-0.30.0",
                                   "vllm-0.31.0", "vllm-0.32.0", "vllm-0.33.0"));
  EXPECT_EQ(profile_in(workbench), "safe");
  EXPECT_EQ(before.note, "");
  ASSERT_TRUE(workbench.apply({"edit.engine", "vllm-0.26.0"}).ok());
  EXPECT_EQ(profile_in(workbench), "vllm-0.26.0");
  EXPECT_EQ(undo_in(workbench).tooltip, "engine profile vllm-0.26.0 in step 2");
  EXPECT_THAT(
      table_of(workbench, "Engine profile").note,
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
  EXPECT_EQ(planned_in(workbench).budget, 8192);
  for (const GuiCommand& command : {GuiCommand{"edit.preempt", "B"}, GuiCommand{"edit.budget", "1"},
                                    GuiCommand{"edit.policy", "no_draft_step column_zero"},
                                    GuiCommand{"edit.engine", "reference"}})
    ASSERT_TRUE(workbench.apply(command).ok());
  const PlannedStep planned = planned_in(workbench);
  EXPECT_EQ(planned.words,
            (std::vector<std::string>{"preempt B", "token budget 1", "engine profile reference",
                                      "policy no_draft_step column_zero"}));
  EXPECT_EQ(planned.budget, 1);
  EXPECT_EQ(planned.profile, EngineProfile::reference);
  EXPECT_EQ(table_of(workbench, "Planned").title, "Planned for step 5");
  const Table requests = table_of(workbench, "Requests");
  const std::size_t preempt = requests.headings.size() - 2;
  for (const TableRow& row : requests.rows)
    EXPECT_EQ(shown_words(row.cells[preempt]), shown_words(row.cells[0]) == "B" ? "yes" : "no");
  for (const TableRow& row : table_of(workbench, "Policies").rows)
    EXPECT_EQ(shown_words(row.cells[1]),
              shown_words(row.cells[0]) == "no_draft_step" ? "column_zero" : "as the profile says");
}

// A budget is of one step, a profile and policies stay.
TEST(NextStepModel, KnowsWhichPartOfThePlanLasts) {
  Workbench workbench;
  for (const GuiCommand& command :
       {GuiCommand{"file.open", "shipped:align_boundary_by_accepted_drafts"},
        GuiCommand{"edit.budget", "7"}, GuiCommand{"edit.engine", "reference"},
        GuiCommand{"edit.policy", "no_draft_step column_zero"}, GuiCommand{"run.step"}})
    ASSERT_TRUE(workbench.apply(command).ok());
  const PlannedStep planned = planned_in(workbench);
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
  EXPECT_EQ(planned_in(workbench).words,
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
