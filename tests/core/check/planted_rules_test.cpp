// Every rule of the table has a test that plants its fault. A new rule fails here until it is
// listed with a test of this program.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/check/finding.h"

namespace hybridscope::test::planted_rules_test {
namespace {

struct PlantedRule {
  Rule rule;
  std::string_view suite{};
  std::string_view test{};
};

constexpr std::array kPlanted = {
    PlantedRule{Rule::running_state_wrong, "PlantedState",
                "ChangedAcceptedCountReadsAnEarlierState"},
    PlantedRule{Rule::label_mismatch, "PlantedLabels", "PostCopyFromTheWrongBlockIsNamed"},
    PlantedRule{Rule::read_of_unwritten_block, "PlantedState",
                "MissingPreCopyLeavesTheRunningBlockUnwritten"},
    PlantedRule{Rule::foreign_write, "PlantedBlocks", "CopyIntoAnotherRequestsBlock"},
    PlantedRule{Rule::reference_count, "PlantedBlocks", "DroppedFreeKeepsAReference"},
    PlantedRule{Rule::copy_out_of_range, "PlantedCopies", "ShiftBeyondTheConvWindow"},
    PlantedRule{Rule::conflicting_copies, "PlantedCopies", "TwoCopiesIntoOneBlock"},
    PlantedRule{Rule::padded_row_not_null, "PlantedRows",
                "PaddingRowFoldsItsPlaceholderIntoABlock"},
    PlantedRule{Rule::stale_persistent_array, "PlantedRows", "ReplayOfBuffersThatNobodyWrote"},
    PlantedRule{Rule::metadata_inconsistent, "PlantedGdn", "OffsetsOfTheRows"},
    PlantedRule{Rule::hit_longer_than_group, "PlantedAttention", "HitThatCoversAFreshBlock"},
    PlantedRule{Rule::foreign_row_datum, "PlantedRows", "SwappedCountsInTheMetadata"},
    PlantedRule{Rule::rejected_draft_counted, "PlantedProgress", "RejectedDraftsThatWereCommitted"},
    PlantedRule{Rule::attention_slot_unwritten, "PlantedAttention", "RunOfSlotsThatIsLeftOut"},
    PlantedRule{Rule::block_table_mismatch, "PlantedBlocks", "WorkerHasAnotherRunningBlock"},
    PlantedRule{Rule::no_progress, "PlantedProgress", "BudgetThatNeverReachesTheNextBoundary"},
    PlantedRule{Rule::state_bytes_wrong, "PlantedBytes", "ChangedElementOfATemporalState"},
    PlantedRule{Rule::schedule_over_limit, "PlantedLimits", "MoreTokensThanTheBudget"},
    PlantedRule{Rule::graph_not_captured, "PlantedLimits", "GraphOfMoreRowsThanWereCaptured"},
    PlantedRule{Rule::published_not_written, "Layers/StoredInsideAPrefill",
                "AStateThatIsNotWrittenIsFound/Mamba2"},
    PlantedRule{Rule::state_changed, "PlantedHashes", "AChangedByteIsFoundBeforeItIsRead"},
    PlantedRule{Rule::copy_differs, "PlantedHashes", "ACopyThatDidNotRun"},
    PlantedRule{Rule::write_missing, "PlantedHashes", "AStateThatIsNotStoredWhereItsWindowIs"},
    PlantedRule{Rule::state_differs, "PlantedLanguage", "AWrongCountReadsAnotherState"},
    PlantedRule{Rule::logits_differ, "PlantedLanguage", "AttentionThatReadsAnotherBlock"},
    PlantedRule{Rule::acceptance_differs, "PlantedLanguage",
                "PlaceholdersThatTheEngineCountsAsAccepted"},
    PlantedRule{Rule::chunk_off_grid, "PlantedProgress", "ChunkThatEndsInsideABlockIsAWarning"},
    PlantedRule{Rule::state_unchanged, "PlantedHashes", "AForwardPassThatChangesNothingIsAWarning"},
    PlantedRule{Rule::drafts_cut, "PlantedProgress", "DraftsCutByTheBudgetAreAWarning"},
    PlantedRule{Rule::expectation_unused, "PlantedProgress",
                "ScriptedCountsThatCannotBeUsedAreWarnings"},
};

bool exists(const PlantedRule& planted) {
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  for (int s = 0; s < program.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *program.GetTestSuite(s);
    if (planted.suite != suite.name()) continue;
    for (int t = 0; t < suite.total_test_count(); ++t)
      if (planted.test == suite.GetTestInfo(t)->name()) return true;
  }
  return false;
}

class PlantedRules : public testing::TestWithParam<RuleInfo> {};

TEST_P(PlantedRules, HasATestThatPlantsItsFault) {
  const auto planted = std::ranges::find(kPlanted, GetParam().rule, &PlantedRule::rule);
  ASSERT_NE(planted, kPlanted.end()) << GetParam().slug << " is not listed";
  EXPECT_TRUE(exists(*planted)) << planted->suite << "." << planted->test << " is no test";
}

std::string name_of_rule(const testing::TestParamInfo<RuleInfo>& rule) {
  std::string name{rule.param.slug};
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Table, PlantedRules,
                         testing::ValuesIn(rule_table().begin(), rule_table().end()), name_of_rule);

}  // namespace
}  // namespace hybridscope::test::planted_rules_test
