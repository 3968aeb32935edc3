// label-mismatch: what a registered block claims and what it holds.
#include <gtest/gtest.h>

#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_labels_test {
namespace {

// A has 20 prompt tokens. Step 1 computes tokens 0..15 and registers attention blocks 1 (8 tokens)
// and 2 (16 tokens) and mamba block 3 (16 tokens).
PlantedRun one_request() {
  PlantedRun run(SmallEngine{});
  run.add(request_of(20, 6, 1));
  return run;
}

// K = 2, 6 prompt tokens; in step 2 three tokens are accepted, the post-copy stores S(8) of block 4
// in block 2 with a conv shift of 1; step 3 registers block 2 as 8 tokens.
PlantedRun boundary_by_acceptance(CheckScope scope = CheckScope::step) {
  PlantedRun run({.num_speculative_tokens = 2}, scope);
  run.add(request_of(6, 12, 1)).steps(1).apply(SetAcceptedTokens{kA, 3});
  return run;
}

TEST(PlantedLabels, MissingPostCopyLeavesThePrefillState) {
  PlantedRun run = boundary_by_acceptance();
  run.step([](StepTrace& trace, OwnedArrays&) {
    ASSERT_EQ(trace.post_copies.copies.size(), 1u);
    trace.post_copies.clear();
  });
  EXPECT_TRUE(nothing_found(run.findings()));
  run.steps(1);
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::label_mismatch,
                                           .step = 3,
                                           .request = 0,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .block = 2,
                                           .expected = 8,
                                           .seen = 6,
                                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 6}},
                                          {.rule = Rule::label_mismatch,
                                           .step = 3,
                                           .group = 1,
                                           .content = ContentKind::conv,
                                           .block = 2,
                                           .expected = 8,
                                           .seen = 6,
                                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 6}}}));
}

TEST(PlantedLabels, PostCopyFromTheWrongBlockIsNamed) {
  PlantedRun run = boundary_by_acceptance();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.post_copies.copies[0].temporal_src_block, 4);
    trace.post_copies.copies[0].temporal_src_block = 3;
  });
  run.steps(1);
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::label_mismatch,
                                           .step = 3,
                                           .request = 0,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .block = 2,
                                           .expected = 8,
                                           .seen = 7,
                                           .cause = ExpectedCause{WriteKind::post_copy, 2, 0, 7}},
                                          {.rule = Rule::metadata_inconsistent,
                                           .step = 2,
                                           .request = 0,
                                           .group = 1,
                                           .expected = 4,
                                           .seen = 3,
                                           .detail = "temporal source of a copy"}}));
}

TEST(PlantedLabels, PostCopyWithoutItsShiftSpoilsTheConvWindowOnly) {
  PlantedRun run = boundary_by_acceptance();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(trace.post_copies.copies[0].accept_token_bias, 1);
    trace.post_copies.copies[0].accept_token_bias = 0;
  });
  run.steps(1);
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::label_mismatch,
                                           .step = 3,
                                           .group = 1,
                                           .content = ContentKind::conv,
                                           .block = 2,
                                           .expected = 8,
                                           .seen = 7,
                                           .cause = ExpectedCause{WriteKind::post_copy, 2, 0, 9}},
                                          {.rule = Rule::metadata_inconsistent,
                                           .step = 2,
                                           .expected = 1,
                                           .seen = 0,
                                           .detail = "shift of a copy"}}));
}

TEST(PlantedLabels, LabelOfMoreTokensThanItsColumn) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays&) {
    event_of(trace.cache_events, CacheEventKind::registered, 0).num_tokens = 16;
  });
  EXPECT_TRUE(found_only(run.findings(),
                         {{.rule = Rule::label_mismatch,
                           .step = 1,
                           .request = 0,
                           .group = 0,
                           .column = 0,
                           .block = 1,
                           .expected = 8,
                           .seen = 16,
                           .detail = "registered for other tokens than its column ends with"}}));
}

TEST(PlantedLabels, LabelOfAnotherPrefix) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays&) {
    event_of(trace.cache_events, CacheEventKind::registered, 1).block_hash ^= 1;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::label_mismatch,
                                           .step = 1,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .block = 3,
                                           .expected = 16,
                                           .seen = 16,
                                           .cause = ExpectedCause{WriteKind::prefill, 1, 0, 16}}}));
}

TEST(PlantedLabels, LabelOfABlockThatIsNotInTheColumn) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays&) {
    event_of(trace.cache_events, CacheEventKind::registered, 1).block = 9;
  });
  EXPECT_TRUE(
      found(run.findings(), {.rule = Rule::label_mismatch,
                             .step = 1,
                             .group = 1,
                             .column = 1,
                             .block = 9,
                             .expected = 3,
                             .seen = 9,
                             .detail = "registered for a column that holds another block"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::label_mismatch,
                                     .content = ContentKind::temporal,
                                     .block = 9,
                                     .expected = 16,
                                     .seen = 0,
                                     .cause = ExpectedCause{}}));
}

TEST(PlantedLabels, AttentionBlockThatIsNotFilledToItsEnd) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays&) {
    auto& writes = trace.groups[0].attention_writes;
    ASSERT_EQ(writes.size(), 2u);
    writes[1].num_slots = 7;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::label_mismatch,
                                     .step = 1,
                                     .request = 0,
                                     .group = 0,
                                     .content = ContentKind::attention,
                                     .block = 2,
                                     .expected = 16,
                                     .seen = 15,
                                     .detail = "not filled to its end",
                                     .cause = ExpectedCause{WriteKind::attention, 1, 0, 15}}));
}

TEST(PlantedLabels, ForgedPromptTokenReachesEveryLabelBehindIt) {  // as known bug 52
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays&) { trace.tokens[9] ^= 1; });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::label_mismatch,
                                           .step = 1,
                                           .group = 0,
                                           .content = ContentKind::attention,
                                           .block = 2,
                                           .expected = 16,
                                           .seen = 16},
                                          {.rule = Rule::label_mismatch,
                                           .step = 1,
                                           .group = 1,
                                           .content = ContentKind::temporal,
                                           .block = 3},
                                          {.rule = Rule::label_mismatch,
                                           .step = 1,
                                           .group = 1,
                                           .content = ContentKind::conv,
                                           .block = 3}}));
}

TEST(PlantedLabels, OverwrittenSnapshotOfAFinishedRequest) {
  PlantedRun run(SmallEngine{}, CheckScope::step);
  run.add(request_of(16, 1, 1)).steps(1).add(request_of(4, 3, 2));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba_of(trace).state_indices_tensor_p)[0] = 3;
  });
  // Nobody reads block 3 in this step; the registered block is looked at because it was written.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::label_mismatch,
                                     .step = 2,
                                     .request = 1,
                                     .group = 1,
                                     .content = ContentKind::temporal,
                                     .block = 3,
                                     .expected = 16,
                                     .seen = 4,
                                     .cause = ExpectedCause{WriteKind::prefill, 2, 1, 4}}));
}

TEST(PlantedLabels, HashIsLostThatWasNeverRegistered) {
  PlantedRun run = one_request();
  run.step([](StepTrace& trace, OwnedArrays&) {
    trace.cache_events.push_back(
        {.kind = CacheEventKind::withdrawn, .group = 1, .request = kA, .block = 9});
  });
  EXPECT_TRUE(found_only(run.findings(),
                         {{.rule = Rule::label_mismatch,
                           .step = 1,
                           .request = 0,
                           .group = 1,
                           .block = 9,
                           .detail = "a block loses a hash that it was not registered under"}}));
}

TEST(PlantedLabels, BlocksThatWereGivenAwayWithTheirLabels) {
  // Six usable blocks: A leaves four of them registered, B takes the two fresh ones, C takes A's
  // attention blocks 3 (for keys and values) and 2 (for its state).
  PlantedRun run({.num_blocks = 7});
  run.add(request_of(24, 1, 1)).steps(1).add(request_of(7, 1, 2)).add(request_of(7, 1, 3));
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_EQ(drop_events(trace.cache_events,
                          [](const CacheEvent& e) { return e.kind == CacheEventKind::evicted; }),
              2u);
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::label_mismatch,
                                           .step = 2,
                                           .request = 2,
                                           .group = 0,
                                           .content = ContentKind::attention,
                                           .block = 3,
                                           .expected = 24,
                                           .seen = 7,
                                           .cause = ExpectedCause{WriteKind::attention, 2, 2, 7}},
                                          {.rule = Rule::label_mismatch,
                                           .step = 2,
                                           .group = 0,
                                           .content = ContentKind::attention,
                                           .block = 2,
                                           .expected = 16,
                                           .seen = 0,
                                           .cause = ExpectedCause{}}}));
}

}  // namespace
}  // namespace hybridscope::test::planted_labels_test
