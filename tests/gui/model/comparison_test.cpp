#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/comparison.h"
#include "tests/gui/model/drive.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::comparison_test {
namespace {

using test::apply;
using test::settle;

const std::string kFile =
    std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/align_boundary_by_accepted_drafts.json";

// The script accepts both tokens of step 2; the edit accepts one.
class ComparisonOf : public testing::Test {
 protected:
  void SetUp() override {
    apply(workbench_, {"file.open", kFile});
    apply(workbench_, {"edit.accept", "A 1"});
    apply(workbench_, {"diff.before_edit"});
    settle(workbench_);
  }
  Workbench workbench_;
};

TEST_F(ComparisonOf, FindsTheFirstDivergenceAndSaysInWhat) {
  const auto& steps = workbench_.comparison()->steps();
  ASSERT_FALSE(steps.empty());
  EXPECT_EQ(steps[0].step, 2);
  EXPECT_EQ(steps[0].presence, StepPresence::both);
  const auto sampled =
      std::ranges::find(steps[0].lines, "rows.num_sampled_tokens", &CollectedField::field);
  ASSERT_NE(sampled, steps[0].lines.end());
  EXPECT_EQ(sampled->request, "A");
  EXPECT_EQ(sampled->a.text(), "1");
  EXPECT_EQ(sampled->b.text(), "2");
}

TEST_F(ComparisonOf, NamesTheSidesAndTheSettingsThatDiffer) {
  const Comparison& same = *workbench_.comparison();
  EXPECT_EQ(same.sides(),
            "left: " + workbench_.run()->title() + ", right: " + same.other().title());
  EXPECT_TRUE(same.settings().empty());
  apply(workbench_, {"diff.open", std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                      "/scenarios/align_boundary_by_decode.json"});
  const auto& settings = workbench_.comparison()->settings();
  const auto drafts = std::ranges::find(settings, "speculative_config/num_speculative_tokens",
                                        &ConfigDifference::setting);
  ASSERT_NE(drafts, settings.end());
  EXPECT_EQ(drafts->a, "1");
  EXPECT_EQ(drafts->b, "0");
}

TEST_F(ComparisonOf, TheOtherRunFollowsTheSteps) {
  EXPECT_EQ(workbench_.comparison()->other().step(), 1);
  apply(workbench_, {"run.step"});
  EXPECT_EQ(workbench_.comparison()->other().step(), 2);
  {
    const Workbench::SideScope other(workbench_);
    EXPECT_EQ(workbench_.run(), &workbench_.comparison()->other());
  }
  EXPECT_NE(workbench_.run(), &workbench_.comparison()->other());
}

TEST_F(ComparisonOf, F8AndF7GoToTheNextAndTheLastDifference) {
  const std::int64_t first = workbench_.comparison()->steps()[0].step;
  const std::int64_t second = workbench_.comparison()->steps()[1].step;
  apply(workbench_, {"diff.first"});
  EXPECT_EQ(workbench_.run()->step(), first);
  apply(workbench_, {"diff.next"});
  EXPECT_EQ(workbench_.run()->step(), second);
  apply(workbench_, {"diff.previous"});
  EXPECT_EQ(workbench_.run()->step(), first);
}

// It is not known yet when it is asked for.
TEST(Comparison, TheFirstDifferenceIsShownWithItsRequestAsSoonAsItIsFound) {
  Workbench workbench;
  apply(workbench, {"file.open", kFile});
  apply(workbench, {"edit.fork"});
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"diff.first"});
  settle(workbench);
  EXPECT_EQ(workbench.run()->step(), 2);
  EXPECT_EQ(workbench.selection().request_name, "A");
  EXPECT_EQ(workbench.notice().text,
            "first difference: step 2, A: commands, rows, copies, commits, state");
}

TEST(Comparison, WhoGoesElsewhereIsNotTakenToTheFirstDifference) {
  Workbench workbench;
  apply(workbench, {"file.open", kFile});
  apply(workbench, {"edit.fork"});
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"diff.first"});
  apply(workbench, {"run.go_to", "3"});
  settle(workbench);
  EXPECT_EQ(workbench.run()->step(), 3);
}

TEST(Comparison, ARequestThatDiffersStaysSelectedAndAnotherGivesWay) {
  const DifferingStep step{.step = 4,
                           .lines = {{.request = ""}, {.request = "B"}, {.request = "C"}}};
  EXPECT_EQ(differing_request(step, "C"), "C");
  EXPECT_EQ(differing_request(step, "A"), "B");
  EXPECT_EQ(differing_request({.step = 5, .presence = StepPresence::only_a}, "A"), "");
}

// The steps 2 and 3 differ in rows; step 4 is in the left run only.
TEST_F(ComparisonOf, TheFilterSaysWhichDifferencesAreGoneTo) {
  apply(workbench_, {"diff.filter", "LEFT run"});
  apply(workbench_, {"diff.next"});
  EXPECT_EQ(workbench_.run()->step(), 4);
  apply(workbench_, {"diff.previous"});
  EXPECT_EQ(workbench_.run()->step(), 4);
  EXPECT_EQ(workbench_.notice().text, "no step before this one differs in what the filter lists");
  apply(workbench_, {"diff.show_all"});
  apply(workbench_, {"diff.previous"});
  EXPECT_EQ(workbench_.run()->step(), 3);
  apply(workbench_, {"diff.filter", "Rows.num_sampled_tokens"});
  apply(workbench_, {"diff.previous"});
  EXPECT_EQ(workbench_.run()->step(), 2);
}

// A copy lists what the window lists.
TEST_F(ComparisonOf, TheListHasWhatPassesTheFilter) {
  const auto steps = [&] {
    std::vector<std::string> marks;
    const Picture picture = differences_picture(workbench_);
    for (const TableRow& row : picture.tables.at(1).rows) marks.push_back(row.mark);
    return marks;
  };
  EXPECT_THAT(steps(), testing::ElementsAre("difference 2", "difference 3", "difference 4"));
  apply(workbench_, {"diff.filter", "left run"});
  EXPECT_THAT(steps(), testing::ElementsAre("difference 4"));
  EXPECT_EQ(differences_picture(workbench_).fields.at(0).text, "left run");
}

TEST(Comparison, AForkKeepsTheRunAsItWasBesideTheOneThatIsEdited) {
  Workbench workbench;
  apply(workbench, {"file.open", kFile});
  apply(workbench, {"edit.fork"});
  settle(workbench);
  EXPECT_TRUE(workbench.comparison()->steps().empty());
  EXPECT_EQ(workbench.comparison()->other().step(), 1);
  apply(workbench, {"edit.accept", "A 1"});
  settle(workbench);
  ASSERT_NE(workbench.comparison(), nullptr);
  EXPECT_EQ(workbench.comparison()->steps().front().step, 2);
}

TEST_F(ComparisonOf, EndsWhenSomethingElseIsOpened) {
  apply(workbench_, {"file.open", "shipped:plain_decode"});
  EXPECT_EQ(workbench_.comparison(), nullptr);
}

std::string scenario(const std::string& requests) {
  return R"({"version": 1, "name": "gaps", "model": "tiny-mamba2",
             "settings": {"block_size": 4, "num_gpu_blocks_override": 32, "max_model_len": 64},
             "requests": [)" +
         requests + "]}";
}
std::string request(const std::string& id, int step, int max_tokens = 2) {
  return fmt::format(R"({{"id": "{}", "prompt": 4, "max_tokens": {}, "at_step": {}}})", id,
                     max_tokens, step);
}

// P runs in steps 1 to 3; B has steps 10 to 12, which A lacks; Q goes on longer in B.
class ComparisonWithGaps : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("a.json", scenario(request("P", 1) + "," + request("Q", 20)));
    folder_.write("b.json",
                  scenario(request("P", 1) + "," + request("X", 10) + "," + request("Q", 20, 3)));
    apply(workbench_, {"file.open", folder_ / "a.json"});
    apply(workbench_, {"diff.open", folder_ / "b.json"});
    settle(workbench_);
  }
  std::pair<std::int64_t, std::int64_t> shown() const {
    return {workbench_.run()->step(), workbench_.comparison()->other().step()};
  }
  test::TemporaryFolder folder_;
  Workbench workbench_;
};

TEST_F(ComparisonWithGaps, ADifferenceIsShownWhereOnlyOneOfThemHasTheStep) {
  const auto& steps = workbench_.comparison()->steps();
  ASSERT_GE(steps.size(), 4u);
  EXPECT_EQ(steps[0].step, 10);
  EXPECT_EQ(steps[0].presence, StepPresence::only_b);
  EXPECT_EQ(steps[2].step, 12);
  ASSERT_GE(steps[3].step, 20);
  for (const std::int64_t step : {10, 11, 12}) {
    apply(workbench_, {"diff.next"});
    EXPECT_EQ(shown(), std::pair(std::int64_t{3}, step));
  }
  apply(workbench_, {"diff.next"});
  EXPECT_EQ(workbench_.run()->step(), steps[3].step);
  apply(workbench_, {"diff.previous"});
  EXPECT_EQ(shown(), std::pair(std::int64_t{3}, std::int64_t{12}));
  apply(workbench_, {"diff.go_to", "10"});
  EXPECT_EQ(shown(), std::pair(std::int64_t{3}, std::int64_t{10}));
  EXPECT_FALSE(workbench_.apply({"diff.go_to", "13"}).ok());
}

TEST_F(ComparisonWithGaps, BFollowsAgainWhenAMovesOn) {
  apply(workbench_, {"diff.next"});
  apply(workbench_, {"run.step_back"});
  EXPECT_EQ(shown(), std::pair(std::int64_t{2}, std::int64_t{2}));
  apply(workbench_, {"run.step"});
  EXPECT_EQ(shown(), std::pair(std::int64_t{3}, std::int64_t{3}));
}

TEST(Comparison, ARunThatBeginsLaterIsNotShownBeforeItsFirstStep) {
  const test::TemporaryFolder folder;
  folder.write("early.json", scenario(request("P", 1)));
  folder.write("late.json", scenario(request("P", 5)));
  Workbench workbench;
  apply(workbench, {"file.open", folder / "early.json"});
  apply(workbench, {"diff.open", folder / "late.json"});
  EXPECT_TRUE(workbench.has_step());
  {
    const Workbench::SideScope other(workbench);
    EXPECT_FALSE(workbench.has_step());
    EXPECT_EQ(workbench.why_no_step(), "This run begins with step 5.");
  }
  // The reverse: A cannot go before its first step, so B goes to the difference.
  apply(workbench, {"file.open", folder / "late.json"});
  apply(workbench, {"diff.open", folder / "early.json"});
  settle(workbench);
  apply(workbench, {"diff.first"});
  EXPECT_EQ(workbench.run()->step(), 5);
  EXPECT_EQ(workbench.comparison()->other().step(), 1);
}

TEST(Comparison, ARunDoesNotDifferFromItself) {
  Workbench workbench;
  apply(workbench, {"file.open", kFile});
  apply(workbench, {"diff.open", kFile});
  settle(workbench);
  EXPECT_TRUE(workbench.comparison()->steps().empty());
  EXPECT_TRUE(workbench.comparison()->error().empty());
}

// The clock does not advance, so one slice compares one step.
TEST(Comparison, LooksAtOneStepAtATimeWhereNothingDiffers) {
  Workbench workbench;
  apply(workbench, {"file.open", kFile});
  apply(workbench, {"diff.open", kFile});
  const Comparison& comparison = *workbench.comparison();
  workbench.advance(0, [] { return 0; });
  EXPECT_EQ(comparison.compared_step(), 1);
  EXPECT_EQ(comparison.words(), "compared up to step 1 ...: 0 steps differ so far");
  workbench.advance(0, [] { return 0; });
  EXPECT_EQ(comparison.compared_step(), 2);
  EXPECT_FALSE(comparison.complete());
}

// Of 700 known steps those far from here are far from a snapshot too.
TEST(Comparison, FarStepsAreGoneToASliceAtATimeAndTheOtherRunFollows) {
  const test::TemporaryFolder folder;
  folder.write("far.json", R"({"version": 1, "name": "far", "model": "tiny-mamba2",
    "settings": {"mamba_cache_mode": "none", "block_size": 8, "num_gpu_blocks_override": 128,
                 "max_model_len": 800},
    "requests": [{"id": "A", "prompt": 4, "max_tokens": 700}]})");
  Workbench workbench;
  apply(workbench, {"file.open", folder / "far.json"});
  apply(workbench, {"run.end"});
  settle(workbench);
  const std::int64_t last = workbench.run()->step();
  ASSERT_GT(last, 690);
  apply(workbench, {"diff.open", folder / "far.json"});
  settle(workbench);
  EXPECT_EQ(workbench.comparison()->other().step(), last);
  // One step of the way at least is far enough from a snapshot.
  std::int64_t far = 0;
  for (std::int64_t step = 2; step < last && far == 0; ++step) {
    apply(workbench, {"run.go_to", "700"});
    settle(workbench);
    apply(workbench, {"run.go_to", std::to_string(step)});
    if (workbench.is_moving()) far = step;
  }
  ASSERT_GT(far, 0);
  EXPECT_LT(workbench.run()->step(), far);
  workbench.advance(0, [] { return 0; });
  EXPECT_LT(workbench.run()->step(), far);
  settle(workbench);
  EXPECT_EQ(workbench.run()->step(), far);
  EXPECT_EQ(workbench.run()->previous_arrays().step, far - 1);
  EXPECT_EQ(workbench.comparison()->other().step(), far);
}

TEST(Comparison, AFileThatCannotBeOpenedLeavesWhatIsOpen) {
  Workbench workbench;
  apply(workbench, {"file.open", kFile});
  EXPECT_FALSE(workbench.apply({"diff.open", "none.json"}).ok());
  EXPECT_EQ(workbench.comparison(), nullptr);
  EXPECT_THAT(workbench.notice().text, testing::HasSubstr("none.json"));
}

using testing::ElementsAre;

CollectedField line(DiffList list, const std::string& request) {
  CollectedField made;
  made.list = list;
  made.request = request;
  return made;
}

NamedStepArrays arrays(std::vector<std::int64_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  NamedArray array{.name = "state_indices_tensor_d", .dims = {size}, .values = std::move(values)};
  return {.step = 3, .groups = {{.group = 1, .arrays = {std::move(array)}}}};
}

TEST(DifferenceMarks, AreTheCellsRowsAndCopiesThatTheListNames) {
  DifferingStep step;
  CollectedField cell = line(DiffList::worker_tables, "A");
  cell.group = 1;
  cell.column = 2;
  CollectedField copy = line(DiffList::copies, "A");
  copy.part = "post_copies";
  step.lines = {cell, copy, line(DiffList::rows, "B"), line(DiffList::step, "")};
  const DifferenceMarks marks = make_difference_marks(step, {}, {});
  ASSERT_NE(marks.of("A"), nullptr);
  EXPECT_TRUE(marks.of("A")->has_cell(1, 2));
  EXPECT_FALSE(marks.of("A")->has_cell(0, 2));
  EXPECT_TRUE(marks.of("A")->post_copy);
  EXPECT_FALSE(marks.of("A")->pre_copy);
  EXPECT_FALSE(marks.of("A")->row);
  ASSERT_NE(marks.of("B"), nullptr);
  EXPECT_TRUE(marks.of("B")->row);
  EXPECT_EQ(marks.of("C"), nullptr);
}

// The list names the first element and how many differ.
TEST(DifferenceMarks, AreAllElementsOfAnArrayThatDiffer) {
  DifferingStep step;
  CollectedField array = line(DiffList::arrays, "");
  array.group = 1;
  array.index = 1;
  array.part = "state_indices_tensor_d";
  step.lines = {array};
  const DifferenceMarks marks = make_difference_marks(step, arrays({7, 2, 4}), arrays({7, 3, 5}));
  ASSERT_NE(marks.of(1, "state_indices_tensor_d"), nullptr);
  EXPECT_THAT(*marks.of(1, "state_indices_tensor_d"), ElementsAre(1, 2));
  EXPECT_EQ(marks.of(0, "state_indices_tensor_d"), nullptr);
  EXPECT_TRUE(
      make_difference_marks(step, arrays({7}), arrays({7, 3})).of(1, array.part)->contains(1));
}

// Step 2 accepts one token on the left and two on the right; in step 1 both are alike.
TEST(DifferenceMarks, AreThoseOfTheShownStepOnBothSides) {
  Workbench workbench;
  apply(workbench, {"file.open", "shipped:align_boundary_by_accepted_drafts"});
  EXPECT_EQ(workbench.differences(), nullptr);
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"diff.before_edit"});
  settle(workbench);
  EXPECT_EQ(workbench.differences(), nullptr);
  apply(workbench, {"diff.first"});
  ASSERT_EQ(workbench.run()->step(), 2);
  ASSERT_NE(workbench.differences(), nullptr);
  EXPECT_TRUE(workbench.differences()->of("A")->row);
  EXPECT_TRUE(workbench.differences()->of("A")->post_copy);
  const Workbench::SideScope right(workbench);
  EXPECT_TRUE(workbench.differences()->of("A")->row);
}

}  // namespace

}  // namespace hybridscope::comparison_test
