#include "sessions/matrix/run_cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/kernel_policies.h"
#include "core/engine/row_inputs_policies.h"
#include "kernels/cpu/cpu_state_backend.h"
#include "tests/sessions/matrix/small_matrix.h"

namespace hybridscope::test::run_cell_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr EngineProfile kJune = EngineProfile::vllm(CalendarDate{2026, 6, 29});

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
}  // namespace hybridscope::test::run_cell_test
