#include "sessions/matrix/matrix_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::matrix_summary_test {
namespace {

CellResult result(const std::string& name, CellVerdict verdict, std::vector<CellFault> faults) {
  return {.cell = cell_called(name),
          .verdict = verdict,
          .num_scenarios = verdict == CellVerdict::refused ? 0 : 10,
          .faults = std::move(faults)};
}

CellFault fault(const std::string& bugs) { return {.cause = bugs, .scenarios = 2}; }

class Summaries : public testing::Test {
 protected:
  void add(const std::string& name, CellVerdict verdict, std::vector<CellFault> faults = {}) {
    contents_.cells[name] = result(name, verdict, std::move(faults));
  }
  MatrixSummary summary() const {
    return summarize_matrix(
        contents_, cells_with({"mode=align", "prefix_caching=on", "layout=SD", "scheduling=sync",
                               "graphs=none", "pressure=none", "retention=dense",
                               "match_unit=block", "checkpoints=none"}));
  }
  MatrixContents contents_;
};

TEST_F(Summaries, CountCellsByVerdictAndThoseThatWereNotRun) {
  add("align/none/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::safe);
  add("align/mtp1/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("a")});
  add("align/mtp2/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::untested);
  add("align/ngram/on/SD/v2/sync/none/none/dense/block/none", CellVerdict::refused);
  const MatrixSummary all = summary();
  EXPECT_EQ(all.cells.safe, 1);
  EXPECT_EQ(all.cells.with_findings, 1);
  EXPECT_EQ(all.cells.untested, 1);
  EXPECT_EQ(all.cells.refused, 1);
  EXPECT_EQ(all.cells.not_run, 10 - 4);
  EXPECT_EQ(all.num_scenarios, 30);
  EXPECT_FALSE(all.all_safe());
}

TEST_F(Summaries, TellAFaultByTheValuesThatItNeeds) {
  add("align/none/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::safe);
  for (const std::string runner : {"v1", "v2"})
    for (const std::string speculation : {"mtp1", "mtp3"})
      add("align/" + speculation + "/on/SD/" + runner + "/sync/none/none/dense/block/none",
          CellVerdict::has_findings, {fault("a"), fault("b+c")});
  add("align/ngram/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("d")});
  const MatrixSummary all = summary();
  ASSERT_EQ(all.faults.size(), 3U);
  EXPECT_EQ(all.faults[0].cause, "a");
  EXPECT_EQ(all.faults[0].cells, 4);
  EXPECT_EQ(all.faults[0].where, "speculation mtp1, mtp3");
  EXPECT_EQ(all.faults[1].cause, "b+c");  // not an accident: neither was found alone
  EXPECT_EQ(all.faults[2].where, "speculation ngram; runner v1");
}

TEST_F(Summaries, CallCombinationsOfBugsThatWereFoundAloneAccidents) {
  add("align/mtp1/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("a"), fault("a+b"), fault("a+c")});
  add("align/mtp2/on/SD/v1/sync/none/none/dense/block/none", CellVerdict::has_findings,
      {fault("b"), fault("a+b")});
  const MatrixSummary all = summary();
  ASSERT_EQ(all.faults.size(), 4U);
  EXPECT_EQ(all.faults.back().cause, "a+b");  // accidents last
  EXPECT_TRUE(all.faults.back().accident);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_FALSE(all.faults[i].accident);
}

TEST_F(Summaries, AreSafeWhenEveryCellThatRunsIs) {
  for (const MatrixCell& cell : cells_with({"mode=align", "prefix_caching=on", "layout=SD",
                                            "scheduling=sync", "graphs=none", "pressure=none"}))
    add(cell_name(cell), CellVerdict::safe);
  EXPECT_TRUE(summary().all_safe());
  EXPECT_TRUE(summary().faults.empty());
}

}  // namespace
}  // namespace hybridscope::test::matrix_summary_test
