#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gui/model/block_story.h"
#include "gui/model/block_verdict.h"
#include "gui/model/live_run.h"
#include "gui/model/open_run.h"
#include "gui/model/recorded_run.h"
#include "sessions/explain/forward_rows.h"
#include "tests/gui/model/shown_scenario.h"
#include "tests/sessions/record/plan_run.h"
#include "tests/storage/recorded_run.h"

namespace hybridscope::block_story_test {
namespace {

using testing::HasSubstr;

RunPlan boundary_by_decode() {
  return test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                            "/scenarios/align_boundary_by_decode.json");
}

std::vector<std::string> words_of(const ContentStory& story) {
  std::vector<std::string> lines;
  for (const StoryLink& link : story.links)
    lines.push_back(std::to_string(link.step) + " " + link.what + ": " + link.words);
  return lines;
}

// Tokens 1..6 are prefilled in step 1 into column 0; steps 2 and 3 decode there up to token 8; step
// 4 copies the state to column 1 and decodes token 9.
TEST(BlockStory, GoesBackOverCopiesAndForwardPassesToTheFirstWrite) {
  const auto run = LiveRun::create(boundary_by_decode()).value();
  ASSERT_TRUE(run->go_to(4).ok());
  const BlockStory story = make_block_story(*run, 4);
  ASSERT_FALSE(story.contents.empty());
  EXPECT_EQ(story.contents[0].title, "Temporal state");
  EXPECT_THAT(
      words_of(story.contents[0]),
      testing::ElementsAre(
          "4 decode: the state of 9 tokens of A, into column 1 (block 4), going on from block 4",
          "4 pre_copy: the state of 8 tokens of A, into column 1 (block 4), copied from block 2",
          "3 decode: the state of 8 tokens of A, into column 0 (block 2), going on from block 2",
          "2 decode: the state of 7 tokens of A, into column 0 (block 2), going on from block 2",
          "1 prefill: the state of 6 tokens of A, into column 0 (block 2)"));
  EXPECT_THAT(story.contents[0].end, HasSubstr("it begins here"));
}

// A's state after 20 tokens goes to block 8 when A runs on, and from there to block 7 for B.
TEST(BlockStory, GoesBackOverCopiesOfWholeBlocks) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  ASSERT_TRUE(test::record_run(test::hits_inside_blocks(), {.place = place}).ok());
  const auto live = test::hits_inside_blocks_at(9);
  const auto recorded = RecordedRun::open(place).value();
  ASSERT_TRUE(recorded->go_to(9).ok());
  for (ShownRun* run : {static_cast<ShownRun*>(live.get()), static_cast<ShownRun*>(recorded.get())})
    EXPECT_THAT(
        words_of(make_block_story(*run, 7).contents.at(0)),
        testing::ElementsAre(
            "9 prefill: the state of 24 tokens of B, into column 2 (block 7), going on from block "
            "7",
            "9 block_copy: the state of 20 tokens of B, into column 2 (block 7), copied from block "
            "8",
            "3 block_copy: the state of 20 tokens of A, into block 8, copied from block 6",
            "2 prefill: the state of 20 tokens of A, into column 2 (block 6), going on from block "
            "6",
            "2 pre_copy: the state of 16 tokens of A, into column 2 (block 6), copied from block 3",
            "1 prefill: the state of 16 tokens of A, into column 1 (block 3)"));
}

TEST(BlockStory, IsTheSameOfASessionAsOfTheRunItself) {
  const test::TemporaryFolder folder;
  const SessionPlace place{.file = folder / "runs.db", .name = "run"};
  ASSERT_TRUE(test::record_run(boundary_by_decode(), {.place = place}).ok());
  const auto live = LiveRun::create(boundary_by_decode()).value();
  const auto recorded = RecordedRun::open(place).value();
  while (live->forward().value()) {
    ASSERT_TRUE(recorded->forward().value());
    for (std::int32_t block = 1; block < live->config().kv_cache_config.num_blocks; ++block) {
      const BlockStory a = make_block_story(*live, block);
      const BlockStory b = make_block_story(*recorded, block);
      ASSERT_EQ(a.holders.size(), b.holders.size());
      ASSERT_EQ(a.contents.size(), b.contents.size()) << "block " << block;
      for (std::size_t i = 0; i < a.contents.size(); ++i) {
        ASSERT_EQ(a.contents[i].links.size(), b.contents[i].links.size());
        for (std::size_t l = 0; l < a.contents[i].links.size(); ++l)
          EXPECT_EQ(a.contents[i].links[l].words, b.contents[i].links[l].words);
        EXPECT_EQ(a.contents[i].end, b.contents[i].end);
      }
    }
  }
}

// Block 2 is A's until the last step is over.
TEST(BlockStory, WhatTheEndOfTheStepFreedIsNoMixOfTwoMoments) {
  const auto run =
      LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                         "/scenarios/align_boundary_by_accepted_drafts.json"))
          .value();
  while (run->forward().value()) {
  }
  const BlockStory story = make_block_story(*run, 2);
  EXPECT_THAT(story.facts,
              testing::Contains(Fact{"references", "0 when the step is over, 1 while it ran"}));
  ASSERT_EQ(story.holders.size(), 1u);
  EXPECT_TRUE(story.holders[0].freed);
  EXPECT_EQ(holder_note(story.holders[0]), "while the step ran; freed at its end");
}

// Step 2 verifies token 8 as a draft that counts and shifts the state of block 3 into block 2; step
// 3 registers it.
TEST(BlockStory, BeginsWithWhatTheBlockHoldsAndIsRegisteredAs) {
  const auto run =
      LiveRun::create(test::plan_of_file(std::string(HYBRIDSCOPE_SOURCE_DIR) +
                                         "/scenarios/align_boundary_by_accepted_drafts.json"))
          .value();
  ASSERT_TRUE(run->go_to(2).ok());
  EXPECT_EQ(make_block_story(*run, 2).holds,
            "holds S(8) of A, conv window 6 7 8 (behind it 8); not registered");
  ASSERT_TRUE(run->go_to(3).ok());
  const BlockStory story = make_block_story(*run, 2);
  EXPECT_EQ(story.holds,
            "holds S(8) of A, conv window 6 7 8 (behind it 8); registered as the prefix of 8 "
            "tokens");
  EXPECT_FALSE(story.disagrees);
  EXPECT_EQ(make_block_story(*run, 1).holds,
            "holds keys and values up to token 8 of A; registered as the prefix of 8 tokens");
  EXPECT_EQ(make_block_story(*run, 9).holds,
            "holds nothing that was written since it was given out; not registered");
}

// Profile reference: B's chunk ends at token 6, and step 2 registers that state as one of 8 tokens.
TEST(BlockStory, SaysWhereContentAndRegistrationDisagree) {
  RunPlan plan = test::reference_plan("two_prompts_share_a_budget");
  const auto run = LiveRun::create(std::move(plan)).value();
  ASSERT_TRUE(run->go_to(2).ok());
  const BlockStory story = make_block_story(*run, 6);
  EXPECT_THAT(story.holds, testing::StartsWith("holds S(6) of B, conv window 4 5 6"));
  EXPECT_THAT(story.holds,
              testing::EndsWith("; registered as the prefix of 8 tokens: they disagree"));
  EXPECT_TRUE(story.disagrees);
}

// Profile reference: step 3 has no drafts and reads column 0, where step 2 left S(6) instead of
// S(8).
TEST(BlockStory, MarksTheWriteThatAFindingBlames) {
  const auto run = LiveRun::create(test::reference_plan("steps_without_drafts")).value();
  ASSERT_TRUE(run->go_to(3).ok());
  const BlockStory story = make_block_story(*run, 2);
  EXPECT_TRUE(story.disagrees);
  ASSERT_GE(story.contents[0].links.size(), 2u);
  EXPECT_EQ(story.contents[0].links[1].step, 2);
  EXPECT_EQ(story.contents[0].links[1].fault, "expected 8: running-state-wrong in step 3");
  EXPECT_EQ(story.contents[0].links.back().fault, "");
  EXPECT_EQ(story.wrong_since.step, 3);
  EXPECT_EQ(story.wrong_since.words,
            "A runs as a decode that is given no accepted count and reads column 0; its state of 8 "
            "tokens is in column 2, left by step 2");
}

// Bug 48: C runs with an accepted count of 1 in step 4; its own is 2. What step 5 finds in block 6
// follows from that.
TEST(BlockStory, SaysWhichDecisionWentWrongFirst) {
  const auto run = open_run("bug:48").value();
  ASSERT_TRUE(run->go_to(4).ok());
  EXPECT_EQ(make_block_story(*run, 5).wrong_since.words,
            "C's accepted count became 1 when it was skipped in step 3; its own is 2, of step 2");
  ASSERT_TRUE(run->go_to(5).ok());
  EXPECT_EQ(make_block_story(*run, 6).wrong_since.step, 4);
}

TEST(BlockStory, AFreeBlockSaysThatNothingWasWritten) {
  const auto run = LiveRun::create(boundary_by_decode()).value();
  ASSERT_TRUE(run->forward().value());
  const std::vector<std::int32_t> queue = *run->free_queue();
  const BlockStory story = make_block_story(*run, queue.back());
  EXPECT_TRUE(story.holders.empty());
  ASSERT_EQ(story.contents.size(), 3u);
  EXPECT_EQ(story.contents[0].end, "Nothing was written since the block was given out.");
}

TEST(BlockStory, TheNullBlockHasNone) {
  const auto run = LiveRun::create(boundary_by_decode()).value();
  ASSERT_TRUE(run->forward().value());
  EXPECT_TRUE(make_block_story(*run, 0).contents.empty());
}

RunPlan run_of(const std::string& model) {
  return test::plan_of_text(R"({
    "version": 1, "name": "kinds", "model": ")" +
                            model + R"(",
    "settings": {"mamba_cache_mode": "none", "enable_prefix_caching": false,
                 "num_gpu_blocks_override": 64, "max_model_len": 4096},
    "requests": [{"id": "A", "prompt": 5, "max_tokens": 4}]})");
}

std::vector<std::string> titles(ShownRun& run, std::int32_t group) {
  const std::int32_t block = run.view().scheduler_tables.block_at({0}, group, 0);
  std::vector<std::string> words;
  for (const ContentStory& story : make_block_story(run, block).contents)
    words.push_back(story.title);
  return words;
}

std::int32_t mamba_group(const ShownRun& run) {
  const auto& groups = run.config().kv_cache_config.groups;
  return static_cast<std::int32_t>(std::ranges::find_if(groups, &KVCacheGroup::is_mamba) -
                                   groups.begin());
}

TEST(BlockStory, TellsOfTheStatesThatTheModelKeeps) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> kept = {
      {"minimax-text-01", {"Temporal state"}},
      {"lfm2-1.2b", {"Conv window"}},
      {"tiny-mamba2", {"Temporal state", "Conv window"}}};
  for (const auto& [model, expected] : kept) {
    const auto run = LiveRun::create(run_of(model)).value();
    ASSERT_TRUE(run->go_to(2).ok());
    EXPECT_EQ(titles(*run, mamba_group(*run)), expected) << model;
  }
}

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

}  // namespace hybridscope::block_story_test
