// Rules about keys and values: attention-slot-unwritten, hit-longer-than-group.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_attention_test {
namespace {

// No prefix caching, so that only the slots themselves tell: 20 prompt tokens in attention blocks
// 1, 2 and 3, then one token a step in block 3.
PlantedRun uncached() {
  PlantedRun run({.mode = MambaCacheMode::none}, CheckScope::step);
  run.add(request_of(20, 9, 1));
  return run;
}

// A computes 16 shared tokens (attention blocks 1 and 2, mamba block 3); in step 2 B is admitted
// with a hit of 16 tokens.
PlantedRun shared_prefix() {
  PlantedRun run(SmallEngine{});
  run.add(request_of(17, 3, 1, 16)).add(request_of(20, 6, 2, 16)).steps(1);
  return run;
}

TEST(PlantedAttention, RunOfSlotsThatIsLeftOut) {
  PlantedRun run = uncached();
  run.step([](StepTrace& trace, OwnedArrays&) {
    auto& writes = trace.groups[0].attention_writes;
    ASSERT_EQ(writes.size(), 3u);
    writes.erase(writes.begin() + 1);  // column 1, a whole block
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::attention_slot_unwritten,
                                           .step = 1,
                                           .request = 0,
                                           .row = 0,
                                           .group = 0,
                                           .content = ContentKind::attention,
                                           .expected = 20,
                                           .seen = 8,
                                           .detail = "tokens of the row have no slot"}}));
}

TEST(PlantedAttention, LaterStepsFindTheGapWhenEverythingIsChecked) {
  PlantedRun run({.mode = MambaCacheMode::none}, CheckScope::all);
  run.add(request_of(20, 9, 1)).step([](StepTrace& trace, OwnedArrays&) {
    trace.groups[0].attention_writes.erase(trace.groups[0].attention_writes.begin() + 1);
  });
  run.steps(1);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                                     .step = 2,
                                     .request = 0,
                                     .column = 1,
                                     .block = 2,
                                     .expected = 16,
                                     .seen = 8,
                                     .detail = "a column before the row's tokens is not filled",
                                     .cause = ExpectedCause{}}));
}

TEST(PlantedAttention, LastTokenWithoutASlotIsMissedByTheNextRow) {
  PlantedRun run = uncached();
  run.step([](StepTrace& trace, OwnedArrays&) {
    trace.groups[0].attention_writes.back().num_slots = 3;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::attention_slot_unwritten,
                                           .step = 1,
                                           .expected = 20,
                                           .seen = 19,
                                           .detail = "tokens of the row have no slot"}}));
  run.steps(1);
  EXPECT_TRUE(
      found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                             .step = 2,
                             .request = 0,
                             .row = 0,
                             .group = 0,
                             .column = 2,
                             .block = 3,
                             .expected = 20,
                             .seen = 19,
                             .detail = "slots before the row's first token were never written",
                             .cause = ExpectedCause{WriteKind::attention, 1, 0, 19}}));
}

TEST(PlantedAttention, SlotOneTooFar) {
  PlantedRun run = uncached();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.groups[0].attention_writes[0].first_slot, 4);
    trace.groups[0].attention_writes[0].first_slot = 5;
  });
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::attention_slot_unwritten,
                                   .step = 2,
                                   .request = 0,
                                   .column = 2,
                                   .block = 3,
                                   .expected = 20,
                                   .seen = 21,
                                   .detail = "the slot is not that of the token's position"}}));
}

TEST(PlantedAttention, GapInTheMiddleOfARow) {
  PlantedRun run = uncached();
  run.step([](StepTrace& trace, OwnedArrays&) {
    AttentionWrite& write = trace.groups[0].attention_writes[1];
    write.first_slot = 2;
    write.first_token = 10;
    write.num_slots = 6;
  });
  EXPECT_TRUE(
      found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                             .step = 1,
                             .column = 1,
                             .block = 2,
                             .expected = 2,
                             .seen = 0,
                             .detail = "slots in the middle of the row were never written"}));
}

TEST(PlantedAttention, SlotsOutsideTheBlock) {
  PlantedRun run = uncached();
  run.step(
      [](StepTrace& trace, OwnedArrays&) { trace.groups[0].attention_writes[0].num_slots = 9; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                                     .step = 1,
                                     .column = 0,
                                     .detail = "slots outside the row's tokens or the block"}));
}

TEST(PlantedAttention, KeysAndValuesOfAnotherPrefix) {
  PlantedRun run = uncached();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) { trace.tokens[0] ^= 1; });
  run.steps(1);
  EXPECT_TRUE(
      found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                             .step = 3,
                             .request = 0,
                             .column = 2,
                             .block = 3,
                             .expected = 21,
                             .seen = 21,
                             .detail = "slots before the row's first token hold another prefix",
                             .cause = ExpectedCause{WriteKind::attention, 2, 0, 21}}));
}

TEST(PlantedAttention, RowThatDoesNotExist) {
  PlantedRun run = uncached();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.groups[0].attention_writes[0].row = 3; });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .group = 0,
                                     .expected = 1,
                                     .seen = 3,
                                     .detail = "slots of a row that does not exist"}));
}

TEST(PlantedAttention, HitOnABlockWithAnotherPrefix) {
  PlantedRun run = shared_prefix();
  run.step([](StepTrace& trace, OwnedArrays&) {
    ASSERT_EQ(trace.hit_hashes.size(), 2u);
    trace.hit_hashes[1] ^= 1;
  });
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::attention_slot_unwritten,
                                   .step = 2,
                                   .request = 1,
                                   .group = 0,
                                   .content = ContentKind::attention,
                                   .column = 1,
                                   .block = 2,
                                   .expected = 16,
                                   .seen = 16,
                                   .detail = "the block holds another prefix",
                                   .cause = ExpectedCause{WriteKind::attention, 1, 0, 16}},
                                  {.rule = Rule::hit_longer_than_group,
                                   .step = 2,
                                   .request = 1,
                                   .column = 1,
                                   .expected = 16,
                                   .seen = 16,
                                   .detail = "the hit's block is registered as another prefix"}}));
}

TEST(PlantedAttention, HitOnABlockThatIsFilledInPart) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(17, 3, 1, 16)).add(request_of(20, 6, 2, 16));
  run.step(
      [](StepTrace& trace, OwnedArrays&) { trace.groups[0].attention_writes[1].num_slots = 7; });
  run.steps(1);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                                     .step = 2,
                                     .request = 1,
                                     .column = 1,
                                     .block = 2,
                                     .expected = 16,
                                     .seen = 15,
                                     .detail = "the block is filled in part",
                                     .cause = ExpectedCause{WriteKind::attention, 1, 0, 15}}));
}

TEST(PlantedAttention, HitBeyondTheGroupsBlocks) {
  PlantedRun run = shared_prefix();
  run.step([](StepTrace& trace, OwnedArrays&) {
    drop_events(trace.cache_events, [](const CacheEvent& e) {
      return e.request == kB && e.group == 0 && e.block == 2;
    });
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::hit_longer_than_group,
                                     .step = 2,
                                     .request = 1,
                                     .group = 0,
                                     .column = 1,
                                     .block = 0,
                                     .expected = 16,
                                     .seen = 8,
                                     .detail = "the hit covers a column without a block"}));
}

TEST(PlantedAttention, HitOnABlockWhoseLabelIsGone) {
  PlantedRun run = shared_prefix();
  run.step([](StepTrace& trace, OwnedArrays&) {
    trace.cache_events.insert(
        trace.cache_events.begin(),
        {.kind = CacheEventKind::evicted, .group = 1, .request = {}, .block = 3});
  });
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::hit_longer_than_group,
                                   .step = 2,
                                   .request = 1,
                                   .group = 1,
                                   .content = ContentKind::temporal,
                                   .column = 1,
                                   .block = 3,
                                   .expected = 16,
                                   .seen = 8,
                                   .detail = "the hit covers a block that is not registered"}}));
}

TEST(PlantedAttention, HitThatCoversAFreshBlock) {
  PlantedRun run = shared_prefix();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    for (CacheEvent& event : trace.cache_events)
      if (event.request == kB && event.group == 0 && event.block == 2) {
        event.block = 20;
        if (event.kind == CacheEventKind::touched) {
          event.kind = CacheEventKind::allocated;
          event.ref_cnt = 1;
        }
      }
    const auto cols = static_cast<std::size_t>(trace.groups[0].block_table.cols);
    arrays.edit(trace.groups[0].block_table)[cols + 1] = 20;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::hit_longer_than_group,
                                     .step = 2,
                                     .request = 1,
                                     .group = 0,
                                     .column = 1,
                                     .block = 20,
                                     .expected = 16,
                                     .seen = 8,
                                     .detail = "the hit covers a block that nobody filled",
                                     .cause = ExpectedCause{}}));
}

TEST(PlantedAttention, HitThatEndsInsideAHashBlock) {
  PlantedRun run = shared_prefix();
  run.step([](StepTrace& trace, OwnedArrays&) {
    for (ScheduledTrace& scheduled : trace.scheduled)
      if (scheduled.request == kB) scheduled.num_computed_tokens = scheduled.num_hit_tokens = 17;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::hit_longer_than_group,
                                     .step = 2,
                                     .request = 1,
                                     .expected = 16,
                                     .seen = 17,
                                     .detail = "do not end with a hash block"}));
  EXPECT_EQ(run.findings().front().detail, "do not end with a hash block");
}

TEST(PlantedAttention, HitWithoutItsFingerprintsCannotBeJudged) {
  PlantedRun run = shared_prefix();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.hit_hashes.pop_back(); });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::metadata_inconsistent,
                                           .step = 2,
                                           .request = 1,
                                           .expected = 2,
                                           .seen = 1,
                                           .detail = "fingerprints of the hit"}}));
}

}  // namespace
}  // namespace hybridscope::test::planted_attention_test
