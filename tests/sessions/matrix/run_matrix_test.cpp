#include "sessions/matrix/run_matrix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/engine/aligned_split_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/matrix/cell_result.h"
#include "sessions/matrix/shrink_fault.h"
#include "sessions/scenario/scenario_reader.h"
#include "tests/sessions/matrix/small_matrix.h"
#include "tests/support/property.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::run_matrix_test {
namespace {

using ::testing::Contains;
using ::testing::Key;
using ::testing::SizeIs;

constexpr EngineProfile kJune = EngineProfile::vllm(CalendarDate{2026, 6, 29});

MatrixContents run_in(const std::string& folder, const MatrixOptions& options) {
  auto file = MatrixFile::open(folder, header_of(options));
  EXPECT_TRUE(run_matrix(options, file.value()).value());
  return read_matrix(folder).value();
}

// With one fault: shrinking takes most of the time.
TEST(RunMatrix, HasTheSameResultsWithMoreThreadsAndAfterAnInterruption) {
  const TemporaryFolder folder;
  MatrixOptions options = small_matrix(EngineProfile::safe, 3);
  options.run.policies = {NoDraftStep::column_zero};
  const MatrixContents whole = run_in(folder / "whole", options);
  {
    int asked = 0;
    options.run.go_on = [&] { return ++asked < 8; };  // in the third cell
    auto file = MatrixFile::open(folder / "parts", header_of(options));
    EXPECT_FALSE(run_matrix(options, file.value()).value());
    EXPECT_THAT(file.value().contents().cells, SizeIs(2));
    options.run.go_on = {};
  }
  std::int64_t scenarios = 0;
  options.progress = [&](const MatrixProgress& at) { scenarios = at.num_scenarios; };
  options.num_threads = 3;
  const MatrixContents parts = run_in(folder / "parts", options);
  EXPECT_EQ(scenarios, 2 * 3);
  EXPECT_THAT(whole.cells, SizeIs(4));
  EXPECT_EQ(parts.cells, whole.cells);
  EXPECT_THAT(whole.faults, SizeIs(1));
  EXPECT_EQ(parts.faults, whole.faults);
}

TEST(RunMatrix, ShardsMergeToTheWhole) {
  const TemporaryFolder folder;
  MatrixOptions options = small_matrix(EngineProfile::safe, 6);
  const MatrixContents whole = run_in(folder / "whole", options);
  const std::vector<MatrixCell> cells = options.cells;
  std::vector<MatrixSource> shards;
  for (std::size_t i = 0; i < 2; ++i) {
    options.cells = {cells[i], cells[i + 2]};
    const std::string shard = folder / std::to_string(i);
    shards.push_back({shard, run_in(shard, options)});
  }
  EXPECT_EQ(merge_matrices(shards).value().cells, whole.cells);
}

// On four cells, of the engine of June with HYBRIDSCOPE_TIMES: each of its faults takes seconds.
TEST(RunMatrix, FaultsBecomeScenariosOfAtMostThreeRequestsThatShowThem) {
  const TemporaryFolder folder;
  MatrixOptions options = small_matrix(kJune, 12);
  if (num_cases(1) == 1) {
    options = small_matrix(EngineProfile::safe, 12);
    options.run.policies = {AlignedSplit::until_last_cache_position, NoDraftStep::column_zero,
                            GdnGates::in_batch_order};
  }
  const MatrixContents contents = run_in(folder.path(), options);
  EXPECT_THAT(contents.faults, Contains(Key("mid-block-chunk-poisons-slot")));
  EXPECT_THAT(contents.faults, Contains(Key("no-draft-step-reads-column-zero")));
  EXPECT_THAT(contents.faults, Contains(Key("gdn-gates-not-gathered")));
  for (const auto& [key, fault] : contents.faults) {
    if (fault.file.empty()) continue;  // two bugs at once, which shrink to one of them
    EXPECT_LE(fault.num_requests, 3) << key;
    const std::string text = folder.read(fault.file);
    const auto scenario = parse_scenario({.text = text, .file = fault.file});
    ASSERT_TRUE(scenario.ok()) << scenario.error().message;
    EXPECT_EQ(scenario.value().settings.engine, std::nullopt) << text;  // its policies alone
    EXPECT_THAT(check_scenario(scenario.value(), {}).value().errors, Contains(fault.kind)) << text;
  }
}

// V2 of 0.33.0 pads prompts of one token, which also puts them before verify rows (no. 8b and 12b),
// and has more faults than these.
TEST(RunMatrix, WithoutTheCauseThatItIsNamedAfterAFileHasNoError) {
  const TemporaryFolder folder;
  MatrixOptions options = small_matrix(EngineProfile::vllm(Release::v0_33_0), 12);
  for (MatrixCell& cell : options.cells) {
    std::string name = cell_name(cell);
    name.replace(name.find("/v1/"), 4, "/v2/");
    cell = cell_called(name);
  }
  const MatrixContents contents = run_in(folder.path(), options);
  EXPECT_THAT(contents.faults, Contains(Key("padded-one-token-prompt-folds-placeholders")));
  for (const auto& [key, fault] : contents.faults) {
    ASSERT_NE(fault.file.empty(), fault.no_file.empty()) << key;
    if (fault.file.empty()) continue;
    Scenario scenario =
        parse_scenario({.text = folder.read(fault.file), .file = fault.file}).value();
    EXPECT_THAT(check_scenario(scenario, {}).value().errors, Contains(fault.kind)) << key;
    switch_off(policies_of_cause(fault.cause).value(), scenario.settings, scenario.script);
    EXPECT_THAT(check_scenario(scenario, {}).value().errors, SizeIs(0)) << key;
  }
}

TEST(RunMatrix, ASafeEngineHasNoFaults) {
  const TemporaryFolder folder;
  EXPECT_THAT(run_in(folder.path(), small_matrix(EngineProfile::safe, 12)).faults, SizeIs(0));
}

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

}  // namespace hybridscope::test::run_matrix_test
