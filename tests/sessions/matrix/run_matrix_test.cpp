#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "sessions/known_bugs/finding_cause.h"
#include "sessions/matrix/matrix_events.h"
#include "sessions/matrix/run_cell.h"
#include "sessions/matrix/run_matrix.h"
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

using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;

CellResult result_of(const std::string& cell, const CellRunOptions& options) {
  return run_cell(cell_called(cell), options).value().value();
}

std::vector<std::string> faults_of(const CellResult& result) {
  std::vector<std::string> names;
  for (const CellFault& fault : result.faults) names.push_back(fault.cause);
  return names;
}

TEST(RunCell, ASafeEngineIsSafeOnceEveryEventHappened) {
  const CellResult result =
      result_of("align/mtp2/on/SD/v1/async/full_and_piecewise/preemption/dense/block/none",
                {.num_scenarios = 40});
  EXPECT_EQ(result.verdict, CellVerdict::safe);
  EXPECT_THAT(result.missing, IsEmpty());
  EXPECT_EQ(result.num_scenarios, 40);
  EXPECT_EQ(result.num_failing, 0);
  for (const MatrixEvent event : {MatrixEvent::pre_copy, MatrixEvent::post_copy, MatrixEvent::bias,
                                  MatrixEvent::same_block_shift, MatrixEvent::preemption})
    EXPECT_GE(result.events[static_cast<std::size_t>(event)].scenarios, 5);
}

TEST(RunCell, WhatNeverHappenedIsNotCalledSafe) {
  const CellResult result =
      result_of("align/mtp1/on/SD/v1/async/full_and_piecewise/preemption/dense/block/none",
                {.num_scenarios = 1});
  EXPECT_EQ(result.verdict, CellVerdict::untested);
  EXPECT_THAT(result.missing, Not(IsEmpty()));
  for (const MatrixEvent event : result.missing)
    EXPECT_EQ(result.events[static_cast<std::size_t>(event)].times, 0);
}

TEST(RunCell, FindsTheKnownBugsOfADayByThemselves) {
  const CellResult result =
      result_of("all/mtp3/on/SD/v1/sync/full_and_piecewise/none/dense/block/none",
                {.profile = kJune, .num_scenarios = 20});
  EXPECT_EQ(result.verdict, CellVerdict::has_findings);
  EXPECT_THAT(faults_of(result), Contains("all-mode-spec-boundary-not-stored"));
  EXPECT_THAT(faults_of(result), Contains("eagle-margin-inflates-hybrid-hit"));
  EXPECT_THAT(result.unexplained, IsEmpty());
}

// Gates are wrong in a mixed batch only if rows without drafts are no spec rows, which is another
// policy; what that one shows alone is not put down to the bug that has both.
TEST(RunCell, ABugOfTwoPoliciesIsNotBlamedForWhatOneOfThemShows) {
  CellRunOptions options{.profile = kJune, .num_scenarios = 20};
  const CellResult result =
      result_of("align/mtp2/on/SD/v1/sync/full_and_piecewise/none/dense/block/none", options);
  const auto fault = std::ranges::find(result.faults, "gdn-gates-not-gathered", &CellFault::cause);
  ASSERT_NE(fault, result.faults.end());
  EXPECT_EQ(fault->kind.rule, Rule::foreign_row_datum);
}

// Known bug 34 takes a second policy as well.
TEST(RunCell, APolicyThatIsNoBugAloneIsNamedAsRunNamesIt) {
  CellRunOptions options{.num_scenarios = 60};
  options.policies.set(PaddingPrefilling::left_over);
  const CellResult result =
      result_of("align/mtp2/on/SD/v1/sync/full_and_piecewise/budget/dense/block/none", options);
  EXPECT_EQ(result.verdict, CellVerdict::has_findings);
  EXPECT_THAT(faults_of(result), ElementsAre("padding_prefilling=left_over"));
  EXPECT_THAT(result.unexplained, IsEmpty());
}

TEST(RunCell, ABugThatAPolicyBringsIsNamed) {
  CellRunOptions options{.num_scenarios = 20};
  options.policies.set(NoDraftStep::column_zero);
  const CellResult result =
      result_of("align/mtp2/on/SD/v1/sync/none/none/dense/block/none", options);
  EXPECT_THAT(faults_of(result), ElementsAre("no-draft-step-reads-column-zero"));
  EXPECT_THAT(result.unexplained, IsEmpty());
}

TEST(RunCell, ABugThatAPolicyTakesAwayIsNotBlamed) {
  CellRunOptions options{.profile = kJune, .num_scenarios = 20};
  const auto blamed = [&] {
    return faults_of(result_of("align/mtp2/on/SD/v1/sync/none/none/dense/block/none", options));
  };
  EXPECT_THAT(blamed(), Contains("eagle-margin-inflates-hybrid-hit"));
  options.policies.set(MambaEagleLookahead::none);
  EXPECT_THAT(blamed(), Not(Contains("eagle-margin-inflates-hybrid-hit")));
}

// What kernels do wrong is not there in bytes.
TEST(RunCell, AnEngineWithPoliciesOfItsOwnKeepsNoStateInBytes) {
  CellRunOptions options{.num_scenarios = 2};
  options.policies.set(NullRows::run);
  options.make_backend = [](StateMemory) -> Result<std::unique_ptr<StateBackend>> {
    return Error{ErrorKind::not_available, "nobody is to ask for one"};
  };
  EXPECT_EQ(result_of("none/none/off/SD/v2/sync/none/none/dense/block/none", options).num_in_bytes,
            0);
}

TEST(RunCell, RefusedCellsAndThoseThatAreOthersRunNothing) {
  const CellResult refused = result_of("align/ngram/on/SD/v1/async/none/none/dense/block/none", {});
  EXPECT_EQ(refused.verdict, CellVerdict::refused);
  EXPECT_THAT(refused.note, HasSubstr("method ngram"));
  const CellResult same = result_of("all/mtp1/off/SD/v1/sync/none/none/dense/block/none", {});
  EXPECT_EQ(same.verdict, CellVerdict::same);
  EXPECT_EQ(same.note, "none/mtp1/off/SD/v1/sync/none/none/dense/block/none");
  EXPECT_EQ(result_of("align/mtp1/on/SD/v1/sync/full/none/dense/block/none", {}).note,
            "align/mtp1/on/SD/v1/sync/full_and_piecewise/none/dense/block/none");
  EXPECT_EQ(refused.num_scenarios + same.num_scenarios, 0);
}

TEST(RunCell, EveryEighthScenarioKeepsStateInBytesToo) {
  CellRunOptions options{.num_scenarios = 17};
  int made = 0;
  options.make_backend = [&](StateMemory memory) -> Result<std::unique_ptr<StateBackend>> {
    ++made;
    auto backend = CpuStateBackend::create(std::move(memory));
    if (!backend.ok()) return backend.error();
    return std::unique_ptr<StateBackend>(std::move(backend).value());
  };
  const CellResult result =
      result_of("align/mtp3/on/DS/v1/sync/full_decode_only/none/dense/block/none", options);
  EXPECT_EQ(result.num_in_bytes, 3);  // 0, 8 and 16
  EXPECT_EQ(made, 3);
  EXPECT_EQ(result.num_failing, 0);
}

// Its default interval of 0 would make the cell another one.
TEST(RunCell, DenseKeepsEveryStateInAReleaseToo) {
  const CellRunOptions options{.profile = EngineProfile::vllm(Release::v0_33_0)};
  const EngineSettings settings =
      scenario_of_cell(cell_called("align/none/on/SD/v2/sync/none/none/dense/block/none"), 0,
                       options)
          .settings;
  EXPECT_EQ(settings.prefix_cache_retention_interval, settings.block_size);
}

// A release has policies that no known bug is made of.
TEST(RunCell, AReleasesErrorsArePutDownToItsBugs) {
  CellRunOptions options{.profile = EngineProfile::vllm(Release::v0_33_0)};
  options.num_scenarios = 20;
  const CellResult result =
      result_of("none/mtp2/off/SD/v2/sync/full_and_piecewise/none/dense/block/none", options);
  EXPECT_GT(result.num_failing, 0);
  EXPECT_TRUE(result.unexplained.empty());
  for (const CellFault& fault : result.faults)
    EXPECT_THAT(fault.cause, testing::AnyOf("padded-one-token-prompt-folds-placeholders",
                                            "padded-prompt-sorted-before-verify-rows",
                                            "full-chunk-sorted-before-decode-rows"));
}

TEST(RunCell, GivesUpWhenItIsTold) {
  int asked = 0;
  CellRunOptions options{.num_scenarios = 20};
  options.go_on = [&] { return ++asked < 5; };
  const auto result =
      run_cell(cell_called("none/none/off/SD/v1/sync/none/none/dense/block/none"), options);
  EXPECT_FALSE(result.value().has_value());
  EXPECT_EQ(asked, 5);
}

}  // namespace

}  // namespace hybridscope::test::run_matrix_test
