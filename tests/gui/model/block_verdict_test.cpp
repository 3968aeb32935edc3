#include "gui/model/block_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sessions/explain/forward_rows.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::block_verdict_test {
namespace {

using test::reference_at;
using test::scenario_at;

std::string verdict_of(ShownRun& run, std::int32_t block, std::int32_t group = 1) {
  BlockFacts facts = run.block_facts(block);
  while (run.load_more()) facts = run.block_facts(block);
  return verdict_words(BlockVerdicts(run).of(block, facts, group));
}

// Profile reference: B's chunk ends at token 6; step 2 registers block 6 as the prefix of 8 tokens
// and leaves it at S(6).
TEST(BlockVerdict, ABlockThatAFindingNamedStaysWrongInLaterSteps) {
  const auto run = reference_at("two_prompts_share_a_budget", 1);
  EXPECT_EQ(verdict_of(*run, 6), "written, not checked");
  for (const std::int64_t step : {2, 3, 5, 9, 4}) {
    ASSERT_TRUE(run->go_to(step).ok());
    EXPECT_EQ(verdict_of(*run, 6), "wrong: label-mismatch in step 2") << "step " << step;
  }
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_EQ(verdict_of(*run, 6), "written, not checked");
}

TEST(BlockVerdict, IsTheSameOfASession) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "reference"};
  ASSERT_TRUE(
      test::record_run(test::reference_plan("two_prompts_share_a_budget"), {.place = place}).ok());
  const auto run = RecordedRun::open(place).value();
  for (const std::int64_t step : {2, 5, 3}) {
    ASSERT_TRUE(run->go_to(step).ok());
    EXPECT_EQ(verdict_of(*run, 6), "wrong: label-mismatch in step 2") << "step " << step;
  }
  ASSERT_TRUE(run->go_to(1).ok());
  EXPECT_EQ(verdict_of(*run, 6), "written, not checked");
}

// Profile reference: step 3 reads S(6) in block 2 instead of S(8); step 4 reads what that one left
// there and writes blocks 2 to 5 from it.
TEST(BlockVerdict, WhatIsComputedFromAWrongStateIsWrong) {
  const auto run = reference_at("steps_without_drafts", 2);
  EXPECT_EQ(verdict_of(*run, 2), "written, not checked");
  ASSERT_TRUE(run->go_to(4).ok());
  EXPECT_EQ(verdict_of(*run, 2), "wrong: running-state-wrong in step 4");
  EXPECT_EQ(verdict_of(*run, 4),
            "wrong: its row started from a wrong state in step 4 (running-state-wrong)");
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_EQ(verdict_of(*run, 4), "written, not checked");
}

// Profile reference: B's row reads a state that was never written; what it leaves stays wrong.
TEST(BlockVerdict, WhatIsComputedFromAWrongStateIsWrongInLaterSteps) {
  const auto run = reference_at("padded_one_token_prompt", 3);
  EXPECT_EQ(verdict_of(*run, 8), "wrong: read-of-unwritten-block in step 3");
  ASSERT_TRUE(run->go_to(4).ok());
  EXPECT_EQ(verdict_of(*run, 8),
            "wrong: its row started from a wrong state in step 3 (read-of-unwritten-block)");
}

// Step 2 writes S(6), S(7), S(8) and S(9) to blocks 2 to 5 and accepts 3 tokens: S(9) is behind a
// rejected draft. Step 3 reads S(8) in block 4 and writes block 2 only.
TEST(BlockVerdict, OnlyWhatACheckLookedAtIsVerified) {
  const auto run = scenario_at("steps_without_drafts", 2);
  for (const std::int32_t block : {2, 3, 4, 5})
    EXPECT_EQ(verdict_of(*run, block), "written, not checked") << "block " << block;
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_EQ(verdict_of(*run, 2), "written, not checked");
  EXPECT_EQ(verdict_of(*run, 4), "verified: this step's forward pass read it and found it right");
  EXPECT_EQ(verdict_of(*run, 5), "written, not checked");
  EXPECT_EQ(verdict_of(*run, 20), "not written");
}

TEST(BlockVerdict, ARegisteredBlockIsHeldAgainstItsLabel) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  EXPECT_EQ(verdict_of(*run, 2), "written, not checked");
  ASSERT_TRUE(run->go_to(3).ok());
  EXPECT_EQ(verdict_of(*run, 1, 0), "verified: it is what the block is registered as");
  EXPECT_EQ(verdict_of(*run, 2), "verified: it is what the block is registered as");
}

// As the run has it, with one fact changed.
TEST(BlockVerdict, AConvWindowOfOtherTokensIsNotWhatTheBlockIsRegisteredAs) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 3);
  BlockFacts facts = run->block_facts(2);
  facts.conv.fingerprint ^= 1;
  EXPECT_EQ(verdict_words(BlockVerdicts(*run).of(2, facts, 1)),
            "wrong: it is not what the block is registered as");
}

TEST(BlockVerdict, WhatAPaddingRowWroteIsWrong) {
  const auto run = scenario_at("align_boundary_by_accepted_drafts", 2);
  BlockFacts facts = run->block_facts(2);
  facts.temporal.event.request = {};
  EXPECT_EQ(verdict_words(BlockVerdicts(*run).of(2, facts, 1)), "wrong: a padding row wrote it");
}

TEST(BlockVerdict, WhatAStaleReplayReadIsNotChecked) {
  int num_stale = 0;
  for (const std::string& path : test::shipped_scenarios()) {
    const auto run = LiveRun::create(test::reference_plan_of_file(path)).value();
    while (run->forward().value()) {
      const StepView view = run->view();
      for (const GroupTrace& group : view.trace.groups) {
        if (!group.is_mamba || !replays_stale(view.trace, group)) continue;
        ++num_stale;
        for (const ForwardPlaces& row :
             forward_rows(view.trace, group, view.config.mamba_cache_mode)) {
          const std::int32_t block = row.temporal_source.block;
          if (block <= kNullBlock) continue;
          EXPECT_THAT(verdict_of(*run, block, group.group),
                      testing::Not(testing::HasSubstr("forward pass read it")));
        }
      }
    }
  }
  EXPECT_GT(num_stale, 0);
}

Finding finding_of(Rule rule, ContentKind content, const WriteEvent& cause) {
  Finding finding;
  finding.rule = rule;
  finding.step = 7;
  finding.block = 3;
  finding.content = content;
  finding.cause = cause;
  return finding;
}

TEST(BlockFaults, HoldAsLongAsTheWriteThatTheFindingSaw) {
  const WriteEvent seen{.kind = WriteKind::decode, .step = 6, .ordinal = 2};
  BlockFaults faults;
  faults.take(finding_of(Rule::label_mismatch, ContentKind::conv, seen));
  const BlockWrites same{.temporal = {}, .conv = seen, .attention = {}};
  ASSERT_NE(faults.find(3, same, 9), nullptr);
  EXPECT_EQ(faults.find(3, same, 9)->step, 7);
  EXPECT_EQ(faults.find(3, same, 6), nullptr);  // not found yet
  EXPECT_EQ(faults.find(4, same, 9), nullptr);
  BlockWrites anew = same;
  anew.conv.step = 8;
  EXPECT_EQ(faults.find(3, anew, 9), nullptr);
  EXPECT_EQ(faults.find(3, {}, 9), nullptr);  // allocated again
  faults.forget_after(6);
  EXPECT_EQ(faults.find(3, same, 9), nullptr);
}

TEST(BlockFaults, AForeignWriteSpoilsWhatWasWrittenUpToItsStep) {
  BlockFaults faults;
  faults.take(finding_of(Rule::foreign_write, ContentKind::temporal, {}));
  BlockWrites writes;
  writes.temporal = {.kind = WriteKind::decode, .step = 7};
  EXPECT_NE(faults.find(3, writes, 8), nullptr);
  writes.temporal.step = 8;
  EXPECT_EQ(faults.find(3, writes, 8), nullptr);
}

// The state of another request that a row reads is right where it is.
TEST(BlockFaults, AFindingThatBlamesNoWriteSaysNothingOfTheBlock) {
  BlockFaults faults;
  faults.take(finding_of(Rule::foreign_row_datum, ContentKind::temporal, {}));
  EXPECT_FALSE(faults.names(3));
}

}  // namespace
}  // namespace hybridscope::block_verdict_test
