#include "sessions/matrix/run_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::merge_matrices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::SizeIs;

const std::string kFirst = "align/mtp1/on/SD/v1/sync/none/none/dense/block/none";
const std::string kSecond = "align/mtp2/on/SD/v1/sync/none/none/dense/block/none";

CellResult a_result(const std::string& cell, const std::vector<std::string>& bugs) {
  CellResult result{.cell = cell_called(cell),
                    .verdict = CellVerdict::has_findings,
                    .num_scenarios = 12,
                    .num_failing = 3};
  for (const std::string& one : bugs)
    result.faults.push_back({one, 2, 5, 3, {Rule::label_mismatch, ""}});
  return result;
}

MatrixFault a_fault(const std::string& bugs, std::int64_t num_requests) {
  return {.cause = bugs,
          .kind = {Rule::label_mismatch, ""},
          .num_requests = num_requests,
          .num_steps = 4,
          .file = "faults/" + bugs + ".json"};
}

MatrixSource a_source(const std::string& folder, const std::string& cell,
                      const std::vector<std::string>& bugs) {
  MatrixSource source{.folder = folder, .contents = {}};
  source.contents.header.shard = folder;
  source.contents.cells[cell] = a_result(cell, bugs);
  return source;
}

TEST(MergedMatrices, HaveTheCellsOfAllAndTheSmallerOfTwoScenariosWithItsFolder) {
  MatrixSource first = a_source("1", kFirst, {"a"});
  MatrixSource second = a_source("2", kSecond, {"a"});
  first.contents.faults["a"] = a_fault("a", 3);
  second.contents.faults["a"] = a_fault("a", 1);
  const auto merged = merge_matrices({first, second});
  ASSERT_TRUE(merged.ok()) << merged.error().message;
  EXPECT_THAT(merged.value().cells, ElementsAre(Key(kFirst), Key(kSecond)));
  EXPECT_EQ(merged.value().faults.at("a").num_requests, 1);
  EXPECT_EQ(merged.value().faults.at("a").file, "2/faults/a.json");
  EXPECT_EQ(merged.value().header.shard, "1/1");
}

// One shard found a and b only together; another found each alone.
TEST(MergedMatrices, HaveNoScenarioOfBugsThatWereEachFoundAlone) {
  MatrixSource first = a_source("1", kFirst, {"a+b"});
  MatrixSource second = a_source("2", kSecond, {"a", "b"});
  first.contents.faults["a+b"] = a_fault("a+b", 2);
  second.contents.faults["a"] = a_fault("a", 1);
  EXPECT_THAT(merge_matrices({first}).value().faults, ElementsAre(Key("a+b")));
  EXPECT_THAT(merge_matrices({first, second}).value().faults, ElementsAre(Key("a")));
}

TEST(MergedMatrices, BelongTogether) {
  const MatrixSource first = a_source("first", kFirst, {});
  MatrixSource other = a_source("other", kSecond, {});
  other.contents.header.seed = 4;
  EXPECT_THAT(merge_matrices({first, other}).error().message,
              HasSubstr("first and other do not belong together: seed is 1 and 4"));
  MatrixSource again = a_source("again", kFirst, {});
  EXPECT_THAT(merge_matrices({first, again}).value().cells, SizeIs(1));
  again.contents.cells[kFirst].num_failing = 9;
  EXPECT_THAT(merge_matrices({first, again}).error().message,
              HasSubstr("again: cell " + kFirst + " has another result"));
}

}  // namespace
}  // namespace hybridscope::test::merge_matrices_test
