// Metadata of GatedDeltaNet layers: which rows, tokens and counts belong together.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_gdn_test {
namespace {

// K = 1. A (6 tokens) decodes when B's prompt arrives: step 2 has A's verify row (2 tokens) and B's
// prefill row (8 of 20 tokens). Sorted by region, A is in row 0.
PlantedRun mixed_batch() {
  PlantedRun run({.mamba_type = MambaType::gdn_attention, .num_speculative_tokens = 1});
  run.add(request_of(6, 20, 1)).steps(1).add(request_of(20, 9, 2));
  return run;
}

// Two verify rows in every step from the second on.
PlantedRun two_verify_rows() {
  PlantedRun run({.mamba_type = MambaType::gdn_attention, .num_speculative_tokens = 1});
  run.add(request_of(3, 20, 1)).add(request_of(4, 20, 2)).steps(1);
  return run;
}

TEST(PlantedGdn, MixedBatchIsAsDescribed) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays&) {
    const GdnMetadata& metadata = gdn_of(trace);
    EXPECT_EQ(metadata.num_spec_decodes, 1);
    EXPECT_EQ(metadata.num_prefills, 1);
    ASSERT_EQ(metadata.spec_token_indx.rows, 2);
    EXPECT_EQ(metadata.spec_token_indx.at(1), 1);
  });
  run.finish();
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedGdn, TokenOfTheOtherRow) {  // known bugs 15, 37
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto spec = arrays.edit(gdn_of(trace).spec_token_indx);
    const auto other = arrays.edit(gdn_of(trace).non_spec_token_indx);
    std::swap(spec[1], other[0]);
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .step = 2,
                                     .request = 0,
                                     .row = 0,
                                     .group = 1,
                                     .expected = 1,
                                     .seen = 2,
                                     .detail = "spec_token_indx"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .request = 1,
                                     .row = 1,
                                     .expected = 2,
                                     .seen = 1,
                                     .detail = "non_spec_token_indx"}));
}

TEST(PlantedGdn, TokensOfARowOutOfOrder) {  // known bug 37
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto spec = arrays.edit(gdn_of(trace).spec_token_indx);
    std::swap(spec[0], spec[1]);
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::foreign_row_datum,
                                           .request = 0,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "spec_token_indx"}}));
}

TEST(PlantedGdn, RowsOfTheWrongKind) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    std::ranges::reverse(arrays.edit(gdn_of(trace).spec_sequence_masks));
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .request = 1,
                                     .row = 1,
                                     .expected = 2,
                                     .seen = 0,
                                     .detail = "spec_token_indx"}));
  // B's first chunk runs on A's block.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_write, .request = 1, .group = 1}));
}

TEST(PlantedGdn, OffsetsOfTheRows) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(gdn_of(trace).spec_query_start_loc)[1] = 1;
    arrays.edit(gdn_of(trace).non_spec_query_start_loc)[1] = 9;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .group = 1,
                                     .expected = 2,
                                     .seen = 1,
                                     .detail = "spec_query_start_loc"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .group = 1,
                                     .expected = 8,
                                     .seen = 9,
                                     .detail = "non_spec_query_start_loc"}));
}

TEST(PlantedGdn, CountsOfRowsAndTokens) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays&) { gdn_of(trace).num_prefill_tokens = 7; });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::metadata_inconsistent,
                                           .expected = 8,
                                           .seen = 7,
                                           .detail = "num_prefill_tokens"}}));
}

TEST(PlantedGdn, RowThatIsNotCounted) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays&) { gdn_of(trace).num_spec_decodes = 0; });
  run.steps(1);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::metadata_inconsistent,
                                     .step = 2,
                                     .expected = 1,
                                     .seen = 0,
                                     .detail = "num_spec_decodes"}));
  // A's row was not run: step 3 copies what step 2 found.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .step = 3,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .expected = 7,
                                     .seen = 6,
                                     .cause = ExpectedCause{WriteKind::pre_copy, 3, 0, 6}}));
}

TEST(PlantedGdn, ChunksOfThePrefillRow) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(gdn_of(trace).chunk_indices)[0] = 1;
    arrays.edit(gdn_of(trace).conv1d.batch_ptr)[0] = 1;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::foreign_row_datum,
                                           .step = 2,
                                           .group = 1,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "chunk_indices: row of a chunk"},
                                          {.rule = Rule::foreign_row_datum,
                                           .step = 2,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "batch_ptr: row of a conv1d program"}}));
}

TEST(PlantedGdn, ChunkOffsets) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(gdn_of(trace).chunk_offsets)[0] = 1;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::metadata_inconsistent,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "chunk_offsets"}}));
}

TEST(PlantedGdn, InitialStateFlag) {
  PlantedRun run = mixed_batch();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(gdn_of(trace).has_initial_state)[0] = 1;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block,
                                     .step = 2,
                                     .request = 1,
                                     .group = 1,
                                     .content = ContentKind::temporal,
                                     .expected = 0}));
}

TEST(PlantedGdn, SwappedCounts) {
  PlantedRun run = two_verify_rows();
  run.apply(SetAcceptedTokens{kA, 2}).apply(SetAcceptedTokens{kB, 1}).steps(1);
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto counts = arrays.edit(gdn_of(trace).num_accepted_tokens);
    EXPECT_EQ(counts[0], 2);
    EXPECT_EQ(counts[1], 1);
    std::swap(counts[0], counts[1]);
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .step = 3,
                                     .request = 0,
                                     .row = 0,
                                     .group = 1,
                                     .expected = 2,
                                     .seen = 1,
                                     .detail = "accepted count of another row"}));
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .step = 3,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .expected = 5,
                                     .seen = 4,
                                     .cause = ExpectedCause{WriteKind::decode, 2, 0, 4}}));
}

TEST(PlantedGdn, CountOutsideTheWindow) {  // known bug 28
  for (const std::int32_t count : {0, 3}) {
    PlantedRun run = two_verify_rows();
    run.step([&](StepTrace& trace, OwnedArrays& arrays) {
      arrays.edit(gdn_of(trace).num_accepted_tokens)[1] = count;
    });
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                       .step = 2,
                                       .request = 1,
                                       .expected = 2,
                                       .seen = count,
                                       .detail = "accepted count outside 1..1+K"}));
    EXPECT_TRUE(found(run.findings(), {.rule = Rule::read_of_unwritten_block,
                                       .request = 1,
                                       .block = -1,
                                       .detail = "read through the pad id"}));
  }
}

}  // namespace
}  // namespace hybridscope::test::planted_gdn_test
