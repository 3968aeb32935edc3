#include "gui/model/view_state.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/gui/model/drive.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::selection_test {
namespace {

using test::apply;

Selection on_the_right(Workbench& workbench) {
  const Workbench::SideScope other(workbench);
  return workbench.selection();
}

std::string scenario(const std::string& requests, const std::string& engine = "safe") {
  return fmt::format(R"({{"version": 1, "name": "order", "model": "tiny-mamba2",
             "settings": {{"engine": "{}", "block_size": 4, "num_gpu_blocks_override": 32,
                           "max_model_len": 64}},
             "requests": [{}]}})",
                     engine, requests);
}
std::string request(const std::string& id, int step, int prompt = 4) {
  return fmt::format(R"({{"id": "{}", "prompt": {}, "max_tokens": 6, "at_step": {}}})", id, prompt,
                     step);
}

// P is number 0 on the left and number 1 on the right.
class SelectionOfTwoRuns : public testing::Test {
 protected:
  void SetUp() override {
    folder_.write("a.json", scenario(request("P", 1) + "," + request("Q", 2)));
    folder_.write("b.json",
                  scenario(request("Q", 1) + "," + request("R", 1) + "," + request("P", 2)));
    apply(workbench_, {"file.open", folder_ / "a.json"});
    apply(workbench_, {"run.go_to", "3"});
    test::settle(workbench_);
    apply(workbench_, {"diff.open", folder_ / "b.json"});
  }
  test::TemporaryFolder folder_;
  Workbench workbench_;
};

TEST_F(SelectionOfTwoRuns, ARequestIsSelectedByItsNameInBoth) {
  apply(workbench_, {"select.request", "P"});
  EXPECT_EQ(workbench_.selection().request, RequestId{0});
  EXPECT_EQ(on_the_right(workbench_).request, RequestId{2});
}

TEST_F(SelectionOfTwoRuns, AClickOnTheRightSelectsInBoth) {
  apply(workbench_, {"select.request", "Q", CompareSide::right});
  EXPECT_EQ(workbench_.selection().request, RequestId{1});
  EXPECT_EQ(on_the_right(workbench_).request, RequestId{0});
  apply(workbench_, {"select.request", "R", CompareSide::right});
  EXPECT_EQ(workbench_.selection().request, RequestId{});
  EXPECT_EQ(on_the_right(workbench_).request, RequestId{1});
  apply(workbench_, {"select.request", "R"});  // of the list of differences, which is of both
  EXPECT_EQ(on_the_right(workbench_).request, RequestId{1});
  EXPECT_FALSE(workbench_.apply({"select.request", "S"}).ok());
}

TEST_F(SelectionOfTwoRuns, ACellHasItsOwnBlockInEach) {
  apply(workbench_, {"select.cell", "P 0 0", CompareSide::right});
  const Selection right = on_the_right(workbench_);
  EXPECT_EQ(workbench_.selection().block,
            workbench_.run()->view().scheduler_tables.block_ids({0}, 0)[0]);
  EXPECT_EQ(right.block,
            workbench_.comparison()->other().view().scheduler_tables.block_ids({2}, 0)[0]);
  EXPECT_NE(workbench_.selection().block, right.block);
  apply(workbench_, {"select.block", "3", CompareSide::right});  // a number means the same in both
  EXPECT_EQ(workbench_.selection().block, 3);
  EXPECT_EQ(on_the_right(workbench_).block, 3);
}

TEST_F(SelectionOfTwoRuns, WhatWasSelectedBeforeIsSelectedInARunThatIsOpenedBesideIt) {
  apply(workbench_, {"diff.close"});
  apply(workbench_, {"select.request", "P"});
  apply(workbench_, {"diff.open", folder_ / "b.json"});
  EXPECT_EQ(on_the_right(workbench_).request, RequestId{2});
}

TEST(Selection, OfSafeAndPagesIsTheSameRequestInBoth) {
  const test::TemporaryFolder folder;
  folder.write("safe.json", scenario(request("P", 1, 9) + "," + request("Q", 1, 5)));
  folder.write("reference.json",
               scenario(request("P", 1, 9) + "," + request("Q", 1, 5), "reference"));
  Workbench workbench;
  apply(workbench, {"file.open", folder / "safe.json"});
  apply(workbench, {"diff.open", folder / "reference.json"});
  apply(workbench, {"select.cell", "Q 1 0", CompareSide::right});
  const Selection right = on_the_right(workbench);
  EXPECT_EQ(workbench.selection().request, RequestId{1});
  EXPECT_EQ(right.request, RequestId{1});
  EXPECT_EQ(workbench.selection().block,
            workbench.run()->view().scheduler_tables.block_ids({1}, 1)[0]);
  EXPECT_EQ(right.block,
            workbench.comparison()->other().view().scheduler_tables.block_ids({1}, 1)[0]);
}

// P runs in steps 1 to 7, Q from step 20 on; the file calls both P.
TEST(Selection, OfANameThatIsUsedAgainIsTheOneThatIsAliveOrWasLast) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "again"};
  ASSERT_TRUE(
      test::record_run(test::plan_of_text(scenario(request("P", 1) + "," + request("Q", 20))),
                       {.place = place})
          .ok());
  test::execute(place.file, "UPDATE requests SET name = 'P' WHERE name = 'Q'");
  Workbench workbench;
  apply(workbench, {"file.open", place.file});
  apply(workbench, {"select.request", "P"});
  EXPECT_EQ(workbench.selection().request, RequestId{0});
  apply(workbench, {"run.go_to", "20"});
  EXPECT_EQ(workbench.run()->step(), 20);
  EXPECT_EQ(workbench.selection().request, RequestId{1});
  apply(workbench, {"run.step_back"});  // the last step of the first one
  EXPECT_LT(workbench.run()->step(), 20);
  EXPECT_EQ(workbench.selection().request, RequestId{0});
}

// Under profile reference steps 3 and 4 have one and three findings.
TEST(Selection, TheNextFindingIsTheNextOneOfTheStepThenThatOfAnotherStep) {
  Workbench workbench;
  apply(workbench, {"file.open", "shipped:all_mode_boundary_by_accepted_drafts"});
  apply(workbench, {"edit.engine", "reference"});
  apply(workbench, {"run.end"});
  test::settle(workbench);
  apply(workbench, {"run.start"});
  const auto findings = workbench.run()->findings();
  ASSERT_GE(findings.size(), 5u);
  ASSERT_EQ(findings[0].finding.step, 3);
  ASSERT_EQ(findings[1].finding.step, 4);
  ASSERT_EQ(findings[3].finding.step, 4);
  const auto shown = [&] {
    return std::pair(workbench.run()->step(), workbench.selection().finding);
  };
  apply(workbench, {"run.next_finding"});
  EXPECT_EQ(shown(), std::pair(std::int64_t{3}, std::ptrdiff_t{0}));
  EXPECT_EQ(workbench.selection().block, findings[0].finding.block);
  EXPECT_EQ(workbench.notice().text, findings[0].text);
  for (std::ptrdiff_t i = 1; i <= 3; ++i) {
    apply(workbench, {"run.next_finding"});
    EXPECT_EQ(shown(), std::pair(std::int64_t{4}, i));
  }
  apply(workbench, {"run.previous_finding"});
  EXPECT_EQ(shown(), std::pair(std::int64_t{4}, std::ptrdiff_t{2}));
  apply(workbench, {"run.step_back"});
  apply(workbench, {"run.next_finding"});  // of the step that is shown first
  EXPECT_EQ(shown(), std::pair(std::int64_t{3}, std::ptrdiff_t{0}));
  apply(workbench, {"run.previous_finding"});
  EXPECT_EQ(workbench.notice().text, "no step before this one has a finding");
  EXPECT_FALSE(workbench.apply({"select.finding", "999"}).ok());
}

// Known bug 9 of a release: counts are moved twice in step 4.
TEST(Selection, TheNextFindingFromTheStartIsTheFirstWrongState) {
  const test::TemporaryFolder folder;
  folder.write("a.json", R"({"version": 1, "name": "permuted", "model": "tiny-mamba2",
    "settings": {"engine": "vllm-0.33.0", "runner": "v1", "mamba_cache_mode": "align",
      "block_size": 8, "num_gpu_blocks_override": 32, "max_model_len": 64, "max_num_seqs": 2,
      "async_scheduling": true, "acceptance_rate": 1.0,
      "speculative_config": {"method": "mtp", "num_speculative_tokens": 2}},
    "requests": [{"id": "C", "prompt": 5, "max_tokens": 4},
                 {"id": "D", "prompt": 5, "max_tokens": 30},
                 {"id": "P", "prompt": 9, "max_tokens": 1}]})");
  Workbench workbench;
  apply(workbench, {"file.open", folder / "a.json"});
  apply(workbench, {"run.next_finding"});
  EXPECT_EQ(workbench.notice().text,
            "no step after this one has a finding so far; more can come (End)");
  apply(workbench, {"run.end"});
  test::settle(workbench);
  const std::int64_t last = workbench.run()->step();
  apply(workbench, {"run.start"});
  apply(workbench, {"run.next_finding"});
  EXPECT_EQ(workbench.run()->step(), 4);
  EXPECT_EQ(workbench.selection().finding, 0);
  EXPECT_EQ(workbench.run()->findings()[0].finding.rule, Rule::foreign_row_datum);
  apply(workbench, {"run.go_to", std::to_string(last)});
  apply(workbench, {"run.next_finding"});
  EXPECT_EQ(workbench.notice().text, "no step after this one has a finding");
}

// In step 6 the scheduler has freed the first block of the mamba group, the worker's table keeps
// it.
TEST(Selection, ACellOfTheWorkersTableHasTheWorkersBlock) {
  Workbench workbench;
  workbench.open(test::scenario_at("align_boundary_by_decode", 6));
  apply(workbench, {"select.cell", "A 1 0 worker"});
  EXPECT_EQ(workbench.selection().block, 2);
  apply(workbench, {"select.cell", "A 1 0 scheduler"});
  EXPECT_EQ(workbench.selection().block, 0);
  apply(workbench, {"block_tables.side", "worker"});
  apply(workbench, {"select.cell", "A 1 0"});
  EXPECT_EQ(workbench.selection().block, 2);
  EXPECT_EQ(workbench.apply({"select.cell", "A 1 0 other"}).error().message,
            "TABLE: expected scheduler or worker, found \"other\"");
}

// In step 2 A has blocks 1 and 4 in group 0, 2 and 3 in group 1.
TEST(Selection, ABlockIsThatOfARequestWhichHoldsIt) {
  Workbench workbench;
  workbench.open(test::scenario_at("align_boundary_by_accepted_drafts", 2));
  const auto selected = [&] {
    const Selection& at = workbench.selection();
    return fmt::format("{} {} {} {}", at.request_name, at.group, at.column, at.block);
  };
  apply(workbench, {"select.cell", "A 0 1"});
  EXPECT_EQ(selected(), "A 0 1 4");
  apply(workbench, {"select.block", "4"});
  EXPECT_EQ(selected(), "A 0 1 4") << "it is the cell's";
  apply(workbench, {"select.block", "3"});
  EXPECT_EQ(selected(), "A 1 -1 3") << "no cell of another block stays selected";
  apply(workbench, {"select.block", "9"});
  EXPECT_EQ(selected(), " -1 -1 9") << "nobody holds it";
}

TEST(Selection, AnotherRequestLeavesNoCellOfTheOneBefore) {
  Workbench workbench;
  workbench.open(test::scenario_at("mixed_gdn_batch", 5));
  apply(workbench, {"select.cell", "A 1 1"});
  EXPECT_EQ(workbench.selection().block, 3);
  apply(workbench, {"select.request", "B"});
  EXPECT_EQ(workbench.selection().request_name, "B");
  EXPECT_EQ(workbench.selection().block, -1);
  EXPECT_EQ(workbench.selection().column, -1);
  EXPECT_EQ(workbench.selection().group, 1) << "what is looked at in panels of groups stays";
}

}  // namespace
}  // namespace hybridscope::selection_test
