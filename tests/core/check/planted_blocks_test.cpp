// Rules about who holds a block: foreign-write, reference-count, block-table-mismatch.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_blocks_test {
namespace {

// A (12 tokens) and B (6 tokens). Step 1: A's first 8 tokens in block 2 (column 0), B's in block 4.
// Step 2: B decodes in block 4, A's state is copied from block 2 to block 6 (column 1) and advanced
// to 12 tokens.
PlantedRun two_rows() {
  PlantedRun run(SmallEngine{});
  run.add(request_of(12, 9, 1)).add(request_of(6, 9, 2));
  return run;
}

// A computes 16 shared tokens in step 1; in step 2 both go on from there. Attention blocks 1 and 2
// are shared, A continues in blocks 4 and 5, B in blocks 6 and 7.
PlantedRun shared_prefix(std::int32_t output_tokens_b = 6) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(17, 3, 1, 16)).add(request_of(20, output_tokens_b, 2, 16));
  return run;
}

TEST(PlantedBlocks, CopyIntoAnotherRequestsBlock) {
  PlantedRun run = two_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.pre_copies.copies[0].dst_block, 6);
    trace.pre_copies.copies[0].dst_block = 4;
  });
  EXPECT_TRUE(
      found(run.findings(),
            {.rule = Rule::foreign_write,
             .step = 2,
             .request = 0,
             .row = 1,
             .group = 1,
             .content = ContentKind::temporal,
             .column = 1,
             .block = 4,
             .detail = "the request's block table does not hold the block in this column"}));
  // The victim's row names the copy.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .step = 2,
                                     .request = 1,
                                     .content = ContentKind::temporal,
                                     .block = 4,
                                     .expected = 6,
                                     .seen = 8,
                                     .cause = ExpectedCause{WriteKind::pre_copy, 2, 0, 8}}));
}

TEST(PlantedBlocks, BlockOfTheOwnRequestInTheWrongColumn) {
  PlantedRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1)).steps(1).apply(SetAcceptedTokens{kA, 1});
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto states = arrays.edit(mamba_of(trace).state_indices_tensor_d);
    std::swap(states[1], states[2]);
  });
  EXPECT_TRUE(found_only(run.findings(),
                         {{.rule = Rule::foreign_write, .step = 2, .column = 2, .block = 6},
                          {.rule = Rule::foreign_write, .step = 2, .column = 3, .block = 4}}));
}

TEST(PlantedBlocks, WritesThroughNullPadAndMissingBlocks) {
  struct Case {
    std::int32_t block;
    std::string_view detail;
  };
  for (const Case& c : {Case{0, "write through the null block"},
                        {-1, "write through the pad id"},
                        {64, "write to a block that does not exist"}}) {
    PlantedRun run = two_rows();
    run.steps(1).step(
        [&](StepTrace& trace, OwnedArrays&) { trace.pre_copies.copies[0].dst_block = c.block; });
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_write,
                                       .step = 2,
                                       .request = 0,
                                       .group = 1,
                                       .column = 1,
                                       .block = c.block,
                                       .detail = c.detail}));
  }
}

TEST(PlantedBlocks, PrefillRowWithoutABlockIsNotAdvanced) {
  for (const std::int32_t block : {kNullBlock, kPadSlotId}) {
    PlantedRun run = two_rows();
    run.step([&](StepTrace& trace, OwnedArrays& arrays) {
      arrays.edit(mamba_of(trace).state_indices_tensor_p)[1] = block;
    });
    EXPECT_TRUE(
        found_only(run.findings(),
                   {{.rule = Rule::foreign_write,
                     .step = 1,
                     .request = 1,
                     .row = 1,
                     .group = 1,
                     .block = block,
                     .detail = "the row's first state index is null: its state is not advanced"}}));
  }
}

TEST(PlantedBlocks, DecisionWithoutAColumnOwnsNothing) {
  PlantedRun run = two_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    for (CopyDecisionTrace& decision : trace.pre_copies.decisions) decision.decision.dst_col = -1;
  });
  EXPECT_TRUE(found_only(run.findings(),
                         {{.rule = Rule::foreign_write, .request = 0, .column = -1, .block = 6},
                          {.rule = Rule::metadata_inconsistent,
                           .request = 0,
                           .expected = 0,
                           .seen = 6,
                           .detail = "destination of a copy"}}));
}

TEST(PlantedBlocks, KeysAndValuesInAnotherRequestsBlock) {
  PlantedRun run = two_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    auto& writes = trace.groups[0].attention_writes;
    ASSERT_EQ(writes[0].row, 0);  // B
    ASSERT_EQ(writes[0].block, 3);
    writes[0].block = 5;  // A's
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_write,
                                     .step = 2,
                                     .request = 1,
                                     .group = 0,
                                     .content = ContentKind::attention,
                                     .column = 0,
                                     .block = 5}));
}

TEST(PlantedBlocks, SharedBlockIsWritten) {
  PlantedRun run = shared_prefix();
  run.steps(1).step([](StepTrace& trace, OwnedArrays& arrays) {
    // Both tables get block 5 in column 2: B's own block 7 is never heard of.
    for (CacheEvent& event : trace.cache_events)
      if (event.block == 7) event.block = 5;
    for (CacheEvent& event : trace.cache_events)
      if (event.request == kB && event.block == 5 && event.kind == CacheEventKind::allocated)
        event = {
            .kind = CacheEventKind::touched, .group = 1, .request = kB, .block = 5, .ref_cnt = 2};
    const auto table = arrays.edit(trace.groups[1].block_table);
    std::ranges::replace(table, 7, 5);
    std::ranges::replace(arrays.edit(mamba_of(trace).state_indices_tensor_p), 7, 5);
    for (StateCopyTrace& copy : trace.pre_copies.copies)
      if (copy.dst_block == 7) copy.dst_block = 5;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_write,
                                     .step = 2,
                                     .request = 1,
                                     .group = 1,
                                     .content = ContentKind::temporal,
                                     .column = 2,
                                     .block = 5,
                                     .expected = 1,
                                     .seen = 2,
                                     .detail = "the block is shared"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::conflicting_copies,
                                     .step = 2,
                                     .block = 5,
                                     .detail = "two copies write the block"}));
}

TEST(PlantedBlocks, DroppedFreeKeepsAReference) {
  PlantedRun run = two_rows();
  run.steps(2).step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(drop_events(trace.cache_events,
                          [](const CacheEvent& e) { return e.kind == CacheEventKind::freed; }),
              1u);
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::reference_count,
                                           .step = 3,
                                           .request = 0,
                                           .group = 1,
                                           .block = 2,
                                           .expected = 0,
                                           .seen = 1}}));
}

TEST(PlantedBlocks, FreedWhileAnotherTableHoldsIt) {
  PlantedRun run = shared_prefix();
  run.steps(3).step([](StepTrace& trace, OwnedArrays&) {  // A finishes, B goes on
    for (CacheEvent& event : trace.commit_events)
      if (event.kind == CacheEventKind::freed && event.block == 2) {
        EXPECT_EQ(event.ref_cnt, 1);
        event.ref_cnt = 0;
      }
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::reference_count,
                                           .step = 4,
                                           .request = 0,
                                           .group = 0,
                                           .block = 2,
                                           .expected = 1,
                                           .seen = 0}}));
}

TEST(PlantedBlocks, GivenOutWhileATableHoldsIt) {
  PlantedRun run = two_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    for (CacheEvent& event : trace.cache_events)
      if (event.block == 5) event.block = 3;  // B's
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::reference_count,
                                     .step = 2,
                                     .request = 0,
                                     .group = 0,
                                     .block = 3,
                                     .expected = 2,
                                     .seen = 1}));
  // The worker writes to the given block, so B's keys and values are overwritten.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::attention_slot_unwritten,
                                     .step = 2,
                                     .request = 1,
                                     .block = 3,
                                     .expected = 6,
                                     .seen = 0,
                                     .cause = ExpectedCause{}}));
}

TEST(PlantedBlocks, FinishedRequestThatKeepsItsTable) {
  PlantedRun run = shared_prefix();
  run.steps(3).step([](StepTrace& trace, OwnedArrays&) {
    drop_events(trace.commit_events, [](const CacheEvent& e) {
      return e.group == 1 &&
             (e.kind == CacheEventKind::freed || e.kind == CacheEventKind::table_dropped);
    });
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::reference_count,
                                           .step = 4,
                                           .request = 0,
                                           .group = 1,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "blocks held by a finished request"}}));
}

TEST(PlantedBlocks, BlocksThatNobodyIsLeftToFree) {
  PlantedRun run(SmallEngine{});
  run.add(request_of(4, 5, 1)).steps(1).apply(AbortRequest{kA});
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_GT(drop_events(trace.cache_events, [](const CacheEvent& e) { return e.group == 0; }),
              0u);
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::reference_count,
                                           .step = 2,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "blocks held although no request is left"}}));
}

TEST(PlantedBlocks, WorkerReadsAnotherBlockInAnEarlierAttentionColumn) {
  PlantedRun run({}, CheckScope::step);
  run.add(request_of(20, 6, 1)).steps(2).step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto table = arrays.edit(trace.groups[0].block_table);
    EXPECT_EQ(table[1], 2);
    table[1] = 9;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::block_table_mismatch,
                                           .step = 3,
                                           .request = 0,
                                           .row = 0,
                                           .group = 0,
                                           .column = 1,
                                           .block = 9,
                                           .expected = 2,
                                           .seen = 9}}));
}

TEST(PlantedBlocks, WorkerHasAnotherRunningBlock) {
  PlantedRun run = two_rows();
  run.steps(2).step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto cols = trace.groups[1].block_table.cols;
    arrays.edit(trace.groups[1].block_table)[static_cast<std::size_t>(cols) + 1] = 2;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::block_table_mismatch,
                                           .step = 3,
                                           .request = 0,
                                           .row = 1,
                                           .group = 1,
                                           .column = 1,
                                           .expected = 6,
                                           .seen = 2}}));
}

TEST(PlantedBlocks, WorkerTableThatIsNotThere) {
  PlantedRun run = two_rows();
  run.steps(2).step([](StepTrace& trace, OwnedArrays&) { trace.groups[1].block_table = {}; });
  EXPECT_TRUE(found_only(
      run.findings(),
      {{.rule = Rule::block_table_mismatch, .request = 1, .column = 0, .expected = 4, .seen = -1},
       {.rule = Rule::block_table_mismatch,
        .request = 0,
        .column = 1,
        .expected = 6,
        .seen = -1}}));
}

TEST(PlantedBlocks, SchedulerColumnThatTheWorkerNeverHeardOf) {
  PlantedRun run = two_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    for (CacheEvent& event : trace.cache_events)
      if (event.kind == CacheEventKind::column_set && event.group == 1) event.column = 2;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::block_table_mismatch,
                                     .step = 2,
                                     .request = 0,
                                     .group = 1,
                                     .column = 1,
                                     .expected = 0,
                                     .seen = 6}));
}

}  // namespace
}  // namespace hybridscope::test::planted_blocks_test
