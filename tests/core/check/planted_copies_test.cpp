// Rules about a launch of copies: copy-out-of-range, conflicting-copies, and its sources.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "core/check/finding.h"
#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_copies_test {
namespace {

// K = 2, W = 4: conv blocks have 5 positions. In step 2 the post-copy takes the conv window of
// block 3 and the state of block 4 (S(8)) to block 2, with a shift of 1.
PlantedRun boundary_by_acceptance() {
  PlantedRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1)).steps(1).apply(SetAcceptedTokens{kA, 3});
  return run;
}

// In step 2 the shared state in block 3 is copied to block 5 for A and to block 7 for B.
PlantedRun two_copies() {
  PlantedRun run(SmallEngine{});
  run.add(request_of(17, 3, 1, 16)).add(request_of(20, 6, 2, 16)).steps(1);
  return run;
}

TEST(PlantedCopies, ShiftBeyondTheConvWindow) {
  for (const std::int32_t bias : {5, 100, -1}) {
    PlantedRun run = boundary_by_acceptance();
    run.step([&](StepTrace& trace, OwnedArrays&) {
      trace.post_copies.copies[0].accept_token_bias = bias;
    });
    EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::copy_out_of_range,
                                             .step = 2,
                                             .request = 0,
                                             .row = 0,
                                             .group = 1,
                                             .column = 0,
                                             .block = 2,
                                             .expected = 4,
                                             .seen = bias},
                                            {.rule = Rule::metadata_inconsistent,
                                             .step = 2,
                                             .expected = 1,
                                             .seen = bias,
                                             .detail = "shift of a copy"}}));
  }
}

TEST(PlantedCopies, LongestShiftStaysInside) {
  PlantedRun run = boundary_by_acceptance();
  run.step(
      [](StepTrace& trace, OwnedArrays&) { trace.post_copies.copies[0].accept_token_bias = 4; });
  EXPECT_FALSE(found(run.findings(), {.rule = Rule::copy_out_of_range}));
}

TEST(PlantedCopies, TwoCopiesIntoOneBlock) {
  PlantedRun run = two_copies();
  run.step([](StepTrace& trace, OwnedArrays&) {
    auto& copies = trace.pre_copies.copies;
    ASSERT_EQ(copies.size(), 2u);
    EXPECT_EQ(copies[0].dst_block, 5);
    copies[1].dst_block = 5;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::conflicting_copies,
                                     .step = 2,
                                     .request = 1,
                                     .row = 1,
                                     .group = 1,
                                     .column = 2,
                                     .block = 5,
                                     .detail = "two copies write the block"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_write, .request = 1, .block = 5}));
}

TEST(PlantedCopies, SourceThatTheLaunchWrites) {
  PlantedRun run = two_copies();
  run.step(
      [](StepTrace& trace, OwnedArrays&) { trace.pre_copies.copies[1].temporal_src_block = 5; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::conflicting_copies,
                                     .step = 2,
                                     .request = 1,
                                     .block = 5,
                                     .detail = "a copy reads what another copy writes"}));
}

TEST(PlantedCopies, SharedSourceIsNoConflict) {
  PlantedRun run = two_copies();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.pre_copies.copies[0].temporal_src_block, 3);
    EXPECT_EQ(trace.pre_copies.copies[1].temporal_src_block, 3);
  });
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedCopies, SourcesThatHoldNoState) {
  for (const std::int32_t block : {kNullBlock, kPadSlotId, 64}) {
    PlantedRun run = two_copies();
    run.step([&](StepTrace& trace, OwnedArrays&) {
      StateCopyTrace& copy = trace.pre_copies.copies[0];
      copy.temporal_src_block = copy.conv_src_block = block;
    });
    for (const ContentKind content : {ContentKind::temporal, ContentKind::conv})
      EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block,
                                         .step = 2,
                                         .request = 0,
                                         .group = 1,
                                         .content = content,
                                         .column = 1,
                                         .block = block,
                                         .detail = "copied from a block that holds no state"}));
  }
}

TEST(PlantedCopies, SourceOfAnotherRequestWithTheSameContent) {
  // A and B have the same prompt of 4 tokens; nothing is shared below a block, so both hold S(4).
  PlantedRun run(SmallEngine{});
  run.add(request_of(4, 9, 1, 4)).add(request_of(4, 9, 1, 4)).steps(5);
  run.step([](StepTrace& trace, OwnedArrays&) {
    auto& copies = trace.pre_copies.copies;
    ASSERT_EQ(copies.size(), 2u);
    copies[1].temporal_src_block = copies[1].conv_src_block = copies[0].temporal_src_block;
  });
  EXPECT_TRUE(found_only(
      run.findings(),
      {{.rule = Rule::foreign_row_datum,
        .step = 6,
        .request = 1,
        .group = 1,
        .content = ContentKind::temporal,
        .detail = "state read from a block of another request or group"},
       {.rule = Rule::metadata_inconsistent, .request = 1, .detail = "conv source of a copy"},
       {.rule = Rule::metadata_inconsistent,
        .request = 1,
        .detail = "temporal source of a copy"}}));
}

TEST(PlantedCopies, CopiesThatTheirDecisionDoesNotCallFor) {
  PlantedRun run = two_copies();
  run.step([](StepTrace& trace, OwnedArrays&) {
    ASSERT_EQ(trace.pre_copies.decisions.size(), 2u);
    trace.pre_copies.decisions[1].decision.outcome = StateCopyOutcome::same_column;
    trace.pre_copies.decisions[0].request = kB;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .step = 2,
                                     .request = 1,
                                     .row = 1,
                                     .expected = 0,
                                     .seen = 1,
                                     .detail = "an extra copy"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .step = 2,
                                     .request = 0,
                                     .row = 0,
                                     .expected = 0,
                                     .seen = 1,
                                     .detail = "copy decision of another request"}));
}

TEST(PlantedCopies, CopyThatRefersToNothingIsNotCarriedOut) {
  for (const bool decision : {true, false}) {
    PlantedRun run = two_copies();
    run.step([&](StepTrace& trace, OwnedArrays&) {
      if (decision)
        trace.pre_copies.copies[0].decision = 7;
      else
        trace.pre_copies.copies[0].group = 0;
    });
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                       .step = 2,
                                       .detail = "a copy without a decision or a mamba group"}));
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block, .block = 5}));
  }
}

// Every rule of the table has a test that plants its fault. A new rule fails here until it is
// listed with a test of this program.

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

}  // namespace hybridscope::test::planted_copies_test
