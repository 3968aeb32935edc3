// Rules about what a row reads: running-state-wrong, read-of-unwritten-block.
#include <gtest/gtest.h>

#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_state_test {
namespace {

// Blocks of 8 tokens. Group 0: attention, group 1: mamba. A has 20 prompt tokens.
// Step 1: tokens 0..15, state to block 3 (column 1). Step 2: tokens 16..19, block 3 is copied to
// block 5 (column 2). Then one token a step in block 5.
PlantedRun one_request(std::int32_t num_mamba_groups = 1) {
  PlantedRun run({.num_mamba_groups = num_mamba_groups});
  run.add(request_of(20, 6, 1));
  return run;
}

// K = 2, 6 prompt tokens. Step 1: S(6) in block 2. Step 2: copied to block 3 (column 1), all three
// tokens accepted: S(7), S(8), S(9) in blocks 3, 4, 6; S(8) is copied back to block 2. Step 3
// starts from column 1 + 2.
PlantedRun verify_rows() {
  PlantedRun run({.num_speculative_tokens = 2});
  run.add(request_of(6, 12, 1)).steps(1).apply(SetAcceptedTokens{kA, 3});
  return run;
}

// Two requests that decode together in step 3: rows B (c = 7, block 4) and A (c = 12, block 6);
// block 2, A's column before, is freed then.
PlantedRun two_rows() {
  PlantedRun run(SmallEngine{});
  run.add(request_of(12, 9, 1)).add(request_of(6, 9, 2));
  return run;
}

TEST(PlantedState, MissingPreCopyLeavesTheRunningBlockUnwritten) {
  PlantedRun run = one_request();
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) { trace.pre_copies.clear(); });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::read_of_unwritten_block,
                                           .step = 2,
                                           .request = 0,
                                           .row = 0,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .column = 2,
                                           .block = 5,
                                           .expected = 16,
                                           .seen = 0,
                                           .detail = "never written since it was given out",
                                           .cause = ExpectedCause{}},
                                          {.rule = Rule::read_of_unwritten_block,
                                           .content = ContentKind::conv,
                                           .block = 5,
                                           .detail = "conv positions that were never written",
                                           .cause = ExpectedCause{}}}));
}

TEST(PlantedState, MissingCopyOfTheSecondGroupIsFoundThere) {
  PlantedRun run = one_request(2);
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) { trace.pre_copies.copies.pop_back(); });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block, .group = 2}));
  EXPECT_FALSE(found(run.findings(), {.rule = Rule::read_of_unwritten_block, .group = 1}));
}

TEST(PlantedState, FirstChunkReadsABlockThatNobodyWrote) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba_of(trace).has_initial_states_p)[0] = 1;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block,
                                     .step = 1,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .column = 1,
                                     .block = 3,
                                     .expected = 0,
                                     .seen = 0}));
}

TEST(PlantedState, FreedBlockIsRead) {
  PlantedRun run = two_rows();
  run.steps(2).step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto states = arrays.edit(mamba_of(trace).state_indices_tensor_d);
    EXPECT_EQ(states[1], 6);
    states[1] = 2;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block,
                                     .step = 3,
                                     .request = 0,
                                     .row = 1,
                                     .group = 1,
                                     .content = ContentKind::temporal,
                                     .column = 1,
                                     .block = 2,
                                     .detail = "read of a freed block"}));
  // What it finds there: the state that the first chunk left.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .expected = 12,
                                     .seen = 8,
                                     .cause = ExpectedCause{WriteKind::prefill, 1, 0, 8}}));
}

TEST(PlantedState, NullStateIndexIsNotRead) {
  PlantedRun run = verify_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba_of(trace).state_indices_tensor_d)[2] = kNullBlock;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block,
                                     .step = 3,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .column = 3,
                                     .block = 0,
                                     .expected = 9,
                                     .detail = "read through the null block"}));
}

TEST(PlantedState, ChangedAcceptedCountReadsAnEarlierState) {
  PlantedRun run = verify_rows();
  run.steps(1).step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto counts = arrays.edit(mamba_of(trace).num_accepted_tokens);
    EXPECT_EQ(counts[0], 3);
    counts[0] = 1;
    trace.rows[0].num_accepted_tokens_before = trace.rows[0].num_accepted_tokens = 1;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::running_state_wrong,
                                           .step = 3,
                                           .request = 0,
                                           .row = 0,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .column = 1,
                                           .block = 3,
                                           .expected = 9,
                                           .seen = 7,
                                           .cause = ExpectedCause{WriteKind::decode, 2, 0, 7}},
                                          {.rule = Rule::running_state_wrong,
                                           .content = ContentKind::conv,
                                           .block = 3,
                                           .expected = 9,
                                           .seen = 7,
                                           .detail = "conv history",
                                           .cause = ExpectedCause{WriteKind::decode, 2, 0, 9}}}));
}

// The row goes on from an accepted count of 3, and its state is not copied.
TEST(PlantedState, AcceptedCountThatThePreCopiesDoNotAccountFor) {
  const auto first_finding = [](const auto& change) {
    PlantedRun run = verify_rows();
    run.steps(1).step(change);
    return run.findings().front();
  };
  const Finding after =
      first_finding([](StepTrace& trace, OwnedArrays&) { trace.rows[0].num_accepted_tokens = 2; });
  EXPECT_EQ(after.detail, "accepted count after the pre-copies");
  EXPECT_EQ(after.expected, 3);
  EXPECT_EQ(after.seen, 2);
  const Finding before = first_finding(
      [](StepTrace& trace, OwnedArrays&) { trace.rows[0].num_accepted_tokens_before = 2; });
  EXPECT_EQ(before.detail, "accepted count before the pre-copies");
  EXPECT_EQ(before.expected, 3);
  EXPECT_EQ(before.seen, 2);
}

TEST(PlantedState, MissingInitialStateIsTold) {
  PlantedRun run = one_request();
  run.steps(1).step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba_of(trace).has_initial_states_p)[0] = 0;
    mamba2_of(trace).prep_initial_states = false;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::running_state_wrong,
                                           .step = 2,
                                           .request = 0,
                                           .group = 1,
                                           .expected = 16,
                                           .seen = 0,
                                           .detail = "has_initial_states says there is none"}}));
}

TEST(PlantedState, ForgedDraftIsFoundWhenItsSuccessorReads) {
  PlantedRun run = verify_rows();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.tokens[1] ^= 2; });
  EXPECT_TRUE(nothing_found(run.findings()));
  run.steps(1);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .step = 3,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .expected = 9,
                                     .seen = 9,
                                     .cause = ExpectedCause{WriteKind::decode, 2, 0, 9}}));
}

TEST(PlantedState, SkippedRowIsFoundByItsNextStep) {
  PlantedRun run = one_request();
  run.steps(2).step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba_of(trace).state_indices_tensor_d)[0] = kNullBlock;
  });
  run.steps(1);
  EXPECT_TRUE(found_only(
      run.findings(), {{.rule = Rule::foreign_write,
                        .step = 3,
                        .request = 0,
                        .group = 1,
                        .block = 0,
                        .detail = "the row's first state index is null: its state is not advanced"},
                       {.rule = Rule::running_state_wrong,
                        .step = 4,
                        .content = ContentKind::temporal,
                        .block = 5,
                        .expected = 21,
                        .seen = 20,
                        .cause = ExpectedCause{WriteKind::prefill, 2, 0, 20}},
                       {.rule = Rule::running_state_wrong,
                        .step = 4,
                        .content = ContentKind::conv,
                        .expected = 21,
                        .seen = 20,
                        .cause = ExpectedCause{WriteKind::prefill, 2, 0, 20}}}));
}

TEST(PlantedState, SwappedStateIndicesReadAndOverwriteEachOther) {
  PlantedRun run = two_rows();
  run.steps(2).step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto states = arrays.edit(mamba_of(trace).state_indices_tensor_d);
    std::swap(states[0], states[1]);
  });
  for (const auto& [request, block] : {std::pair{1, 6}, std::pair{0, 4}}) {
    EXPECT_TRUE(
        found(run.findings(), {.rule = Rule::foreign_row_datum,
                               .step = 3,
                               .request = request,
                               .group = 1,
                               .content = ContentKind::temporal,
                               .block = block,
                               .detail = "state read from a block of another request or group"}));
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_write,
                                       .step = 3,
                                       .request = request,
                                       .content = ContentKind::temporal,
                                       .block = block}));
  }
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .request = 1,
                                     .content = ContentKind::temporal,
                                     .block = 6,
                                     .expected = 7,
                                     .seen = 12,
                                     .cause = ExpectedCause{WriteKind::prefill, 2, 0, 12}}));
  // Block 4 is registered as B's first 8 tokens in this step; A wrote its 13th token into it.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::label_mismatch,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .block = 4,
                                     .expected = 8,
                                     .cause = ExpectedCause{WriteKind::decode, 3, 0, 8}}));
}

TEST(PlantedState, StateOfTheOtherGroupIsNotThisGroupsState) {  // known bug 42 (a)
  PlantedRun run = one_request(2);
  run.steps(1).step([](StepTrace& trace, OwnedArrays&) {
    auto& copies = trace.pre_copies.copies;
    ASSERT_EQ(copies.size(), 2u);
    copies[1].conv_src_block = copies[1].temporal_src_block = copies[0].temporal_src_block;
  });
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::foreign_row_datum,
                                   .step = 2,
                                   .request = 0,
                                   .group = 2,
                                   .content = ContentKind::temporal,
                                   .block = 3,
                                   .detail = "state read from a block of another request or group"},
                                  {.rule = Rule::metadata_inconsistent,
                                   .group = 2,
                                   .expected = 4,
                                   .seen = 3,
                                   .detail = "conv source of a copy"},
                                  {.rule = Rule::metadata_inconsistent,
                                   .group = 2,
                                   .expected = 4,
                                   .seen = 3,
                                   .detail = "temporal source of a copy"}}));
}

TEST(PlantedState, WindowOfTheOtherGroupIsNotThisGroupsWindow) {
  PlantedRun run({.num_speculative_tokens = 2, .num_mamba_groups = 2});
  run.add(request_of(6, 12, 1)).steps(1).apply(SetAcceptedTokens{kA, 3}).steps(1);
  std::int32_t foreign = 0;
  run.step([&](StepTrace& trace, OwnedArrays& arrays) {
    foreign = mamba_of(trace, 1).state_indices_tensor_d.at(0, 2);
    arrays.edit(mamba_of(trace, 2).state_indices_tensor_d)[2] = foreign;
  });
  // Layers of group 1 have run before: the block holds S(12) when group 2 reads it.
  EXPECT_TRUE(found_only(
      run.findings(),
      {{.rule = Rule::foreign_row_datum,
        .step = 3,
        .group = 2,
        .content = ContentKind::temporal,
        .column = 3,
        .block = foreign},
       {.rule = Rule::running_state_wrong,
        .step = 3,
        .group = 2,
        .column = 3,
        .block = foreign,
        .expected = 9,
        .seen = 12},
       {.rule = Rule::foreign_write, .step = 3, .group = 2, .column = 3, .block = foreign}}));
}

TEST(PlantedState, LengthOfDecodeRowsIsOneVerifyWindow) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    MambaMetadata& metadata = mamba_of(trace);
    metadata.num_decodes = 1;
    metadata.num_decode_tokens = 16;
    metadata.num_prefills = metadata.num_prefill_tokens = 0;
    metadata.state_indices_tensor_d = metadata.state_indices_tensor_p;
    arrays.edit(metadata.state_indices_tensor_d);
    metadata.query_start_loc_d = metadata.query_start_loc_p;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .request = 0,
                                     .expected = 1,
                                     .seen = 16,
                                     .detail = "a decode row is longer than a verify window"}));
}

}  // namespace
}  // namespace hybridscope::test::planted_state_test
