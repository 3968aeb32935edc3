#include "sessions/matrix/shrink_fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/batch_metadata_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "core/engine/worker_v2_policies.h"
#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::shrink_fault_test {
namespace {

using ::testing::ElementsAre;

CellResult cell_with(const std::string& name, std::vector<CellFault> faults) {
  return {.cell = cell_called(name),
          .verdict = CellVerdict::has_findings,
          .num_scenarios = 1,
          .faults = std::move(faults)};
}

CellFault fault(const std::string& bugs, std::int64_t index, std::int64_t num_requests) {
  return {.cause = bugs, .scenarios = 1, .index = index, .num_requests = num_requests};
}

std::vector<std::string> keys(const std::vector<FaultCandidates>& faults) {
  std::vector<std::string> names;
  for (const FaultCandidates& one : faults) names.push_back(one.key);
  return names;
}

MatrixContents contents_of(std::vector<CellResult> cells) {
  MatrixContents contents;
  for (CellResult& cell : cells) {
    const std::string name = cell_name(cell.cell);
    contents.cells[name] = std::move(cell);
  }
  return contents;
}

TEST(CollectedFaults, OfBugsThatWereFoundAloneNoPairIsKept) {
  const MatrixContents contents = contents_of(
      {cell_with("all/mtp1/on/SD/v1/sync/none/none/dense/block/none",
                 {fault("a", 1, 2), fault("b", 1, 2), fault("a+b", 2, 2), fault("b+c", 3, 2)})});
  EXPECT_THAT(keys(collect_faults(contents)), ElementsAre("a", "b", "b+c"));
}

TEST(CollectedFaults, TheSmallestScenariosOfFourCellsAreTried) {
  std::vector<CellResult> cells;
  std::int64_t index = 0;
  for (const std::string pressure : {"none", "budget", "preemption", "reset"})
    for (const std::string graphs : {"none", "full", "piecewise"}) {
      cells.push_back(
          cell_with("all/mtp1/on/SD/v1/sync/" + graphs + "/" + pressure + "/dense/block/none",
                    {fault("a", index, 12 - index)}));
      ++index;
    }
  const auto faults = collect_faults(contents_of(std::move(cells)));
  ASSERT_EQ(faults.size(), 1U);
  std::vector<std::int64_t> requests;
  for (const FaultCandidates::Place& place : faults[0].places)
    requests.push_back(place.num_requests);
  EXPECT_THAT(requests, ElementsAre(1, 2, 3, 4));
}

TEST(CollectedFaults, WhatNothingExplainsGoesByItsKind) {
  CellResult cell = cell_with("all/mtp1/on/SD/v1/sync/none/none/dense/block/none", {});
  cell.unexplained = {{{Rule::label_mismatch, "not filled to its end"}, 3, 9}};
  const auto faults = collect_faults(contents_of({cell}));
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].key, "label-mismatch not filled to its end");
  EXPECT_EQ(faults[0].cause, "");
  EXPECT_EQ(faults[0].places[0].index, 9);
}

TEST(FaultCause, GivesThePoliciesBack) {
  const PolicyOverrides expected = {AcceptedCountOwner::persistent_row, RowOrder::query_len};
  EXPECT_EQ(policies_of_cause("skipped-step-forgets-accepted-count+row_order=query_len").value(),
            expected);
}

TEST(FaultCause, OfBugsThatFitEquallyHasTheirPolicies) {
  EXPECT_EQ(policies_of_cause("resumed-tail-runs-as-decode or one-token-first-chunk-as-decode+"
                              "row_order=query_len")
                .value(),
            (PolicyOverrides{RowClassing::by_shape_past_the_prompt, RowOrder::query_len}));
}

TEST(FaultCause, ThatIsNoneIsRefused) {
  EXPECT_FALSE(policies_of_cause("mid-block-chunk-poisons-slot+").ok());
  EXPECT_EQ(policies_of_cause("row_order=query").error().message,
            "there is no policy with this value: row_order=query");
  EXPECT_FALSE(policies_of_cause("row_oder=query_len").ok());
}

}  // namespace

}  // namespace hybridscope::test::shrink_fault_test
