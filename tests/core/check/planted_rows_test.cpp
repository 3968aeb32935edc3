// Rules about rows: padded-row-not-null, stale-persistent-array, foreign-row-datum.
#include <gtest/gtest.h>

#include "tests/core/check/planted.h"

namespace hybridscope::test::planted_rows_test {
namespace {

// Three requests decode from step 2 on; the graph has four rows, the fourth is padding.
PlantedRun three_rows(MambaType type = MambaType::mamba2, std::int32_t num_speculative_tokens = 0) {
  PlantedRun run({.mamba_type = type, .num_speculative_tokens = num_speculative_tokens});
  run.add(request_of(3, 20, 1)).add(request_of(4, 20, 2)).add(request_of(5, 20, 3)).steps(1);
  return run;
}

TEST(PlantedRows, BatchIsAsDescribed) {
  PlantedRun run = three_rows();
  run.step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_TRUE(trace.graph.pads_metadata());
    EXPECT_EQ(trace.rows.size(), 3u);
    EXPECT_EQ(trace.common.num_reqs, 4);
  });
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedRows, PaddingRowWithALength) {
  PlantedRun run = three_rows();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(trace.common.seq_lens)[3] = 5;
    mamba_of(trace).seq_lens.data = trace.common.seq_lens.data();
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::padded_row_not_null,
                                           .step = 2,
                                           .request = -1,
                                           .row = 3,
                                           .expected = 0,
                                           .seen = 5,
                                           .detail = "seq_lens"}}));
}

TEST(PlantedRows, PaddingRowWithTokens) {
  PlantedRun run = three_rows();
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto starts = arrays.edit(trace.common.query_start_loc);
    EXPECT_EQ(starts[4], 3);
    trace.tokens.push_back(1);
    starts[4] = 4;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::padded_row_not_null,
                                     .step = 2,
                                     .row = 3,
                                     .expected = 0,
                                     .seen = 1,
                                     .detail = "query length"}));
}

TEST(PlantedRows, PaddingRowFoldsItsPlaceholderIntoABlock) {  // known bug 35
  PlantedRun run = three_rows();
  std::int32_t block_of_a = 0;
  run.step([&](StepTrace& trace, OwnedArrays& arrays) {
    const auto states = arrays.edit(mamba_of(trace).state_indices_tensor_d);
    block_of_a = states[0];
    states[3] = block_of_a;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::padded_row_not_null,
                                           .step = 2,
                                           .request = -1,
                                           .row = 3,
                                           .group = 1,
                                           .block = block_of_a,
                                           .detail = "state index of a padding row"}}));
  run.steps(1);
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .step = 3,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .block = block_of_a,
                                     .expected = 4,
                                     .seen = 5,
                                     .cause = ExpectedCause{WriteKind::decode, 2, -1, 5}}));
}

TEST(PlantedRows, PaddingRowOfVerifyBatches) {
  // K = 2: four verify rows run in a graph of six.
  for (const MambaType type : {MambaType::mamba2, MambaType::gdn_attention}) {
    PlantedRun run({.mamba_type = type, .num_speculative_tokens = 2});
    for (std::uint64_t text = 1; text <= 4; ++text) run.add(request_of(4, 20, text));
    run.steps(1).step([&](StepTrace& trace, OwnedArrays& arrays) {
      EXPECT_EQ(trace.common.num_reqs, 6);
      auto& states = type == MambaType::mamba2 ? mamba_of(trace).state_indices_tensor_d
                                               : gdn_of(trace).spec_state_indices_tensor;
      ASSERT_GE(states.rows, 6);
      arrays.edit(states)[4 * 3] = 2;
    });
    EXPECT_TRUE(found_only(
        run.findings(),
        {{.rule = Rule::padded_row_not_null, .step = 2, .row = 4, .group = 1, .block = 2}}));
  }
}

TEST(PlantedRows, ReplayOfBuffersThatNobodyWrote) {
  for (const MambaType type : {MambaType::mamba2, MambaType::gdn_attention}) {
    PlantedRun run = three_rows(type);
    run.step([](StepTrace& trace, OwnedArrays&) { trace.groups[1].persistent_buffers_step = 0; });
    EXPECT_TRUE(found_only(
        run.findings(),
        {{.rule = Rule::stale_persistent_array, .step = 2, .group = 1, .expected = 2, .seen = 0}}));
  }
}

TEST(PlantedRows, SecondGroupOfAReplayIsStale) {  // known bug 40
  PlantedRun run({.num_mamba_groups = 2});
  run.add(request_of(5, 9, 1)).steps(1).step([](StepTrace& trace, OwnedArrays&) {
    trace.groups[2].persistent_buffers_step = 1;
  });
  EXPECT_TRUE(
      found_only(run.findings(), {{.rule = Rule::stale_persistent_array, .step = 2, .group = 2}}));
}

TEST(PlantedRows, BuffersMayBeStaleWithoutAReplay) {
  PlantedRun run({});
  run.add(request_of(5, 9, 1)).step([](StepTrace& trace, OwnedArrays&) {
    EXPECT_FALSE(trace.graph.pads_metadata());
    trace.groups[1].persistent_buffers_step = 0;
  });
  EXPECT_TRUE(nothing_found(run.findings()));
}

// A and B accept 2 tokens and 1, and B gets A's count.
TEST(PlantedRows, CountOfAnotherRequest) {
  PlantedRun run = three_rows(MambaType::mamba2, 2);
  run.apply(SetAcceptedTokens{kA, 2}).apply(SetAcceptedTokens{kB, 1}).steps(1);
  run.step([](StepTrace& trace, OwnedArrays&) {
    trace.rows[1].accepted_from = kA;
    trace.rows[1].num_accepted_tokens_before = 2;
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .step = 3,
                                     .request = 1,
                                     .row = 1,
                                     .expected = 1,
                                     .seen = 2,
                                     .detail = "accepted count of another request"}));
}

TEST(PlantedRows, AnEqualCountOfAnotherRequestIsNoFinding) {
  PlantedRun run = three_rows(MambaType::mamba2, 2);
  run.step([](StepTrace& trace, OwnedArrays&) { trace.rows[1].accepted_from = kC; });
  EXPECT_TRUE(nothing_found(run.findings()));
}

TEST(PlantedRows, SlotOfAnotherRequest) {
  EngineConfig config = engine_config({.num_speculative_tokens = 2});
  config.runner = ModelRunner::v2;
  PlantedRun run(CheckScope::all, config);
  run.add(request_of(5, 9, 1)).add(request_of(5, 9, 2)).steps(1);
  run.step([](StepTrace& trace, OwnedArrays&) { trace.rows[1].slot_owner = kA; });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::foreign_row_datum,
                                           .step = 2,
                                           .request = 1,
                                           .row = 1,
                                           .expected = 1,
                                           .seen = 0,
                                           .detail = "slot of another request"}}));
}

TEST(PlantedRows, SwappedCountsInTheMetadata) {  // known bug 9
  PlantedRun run = three_rows(MambaType::mamba2, 2);
  run.apply(SetAcceptedTokens{kA, 2}).apply(SetAcceptedTokens{kB, 1}).steps(1);
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto counts = arrays.edit(mamba_of(trace).num_accepted_tokens);
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
  // A: 3 prompt tokens, S(4), S(5) and S(6) in columns 0..2; column 0 is read, not column 1.
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::running_state_wrong,
                                     .step = 3,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .expected = 5,
                                     .seen = 4,
                                     .cause = ExpectedCause{WriteKind::decode, 2, 0, 4}}));
}

TEST(PlantedRows, RequestOfAnotherRow) {
  PlantedRun run = three_rows();
  run.step([](StepTrace& trace, OwnedArrays&) {
    std::swap(trace.rows[0].scheduled, trace.rows[1].scheduled);
  });
  EXPECT_TRUE(found(run.findings(), {.rule = Rule::foreign_row_datum,
                                     .step = 2,
                                     .request = 0,
                                     .row = 0,
                                     .expected = 1,
                                     .seen = 0,
                                     .detail = "the row's request is not the scheduled one"}));
}

TEST(PlantedRows, PrefillFlagOfAnotherRow) {
  PlantedRun run({});
  run.add(request_of(5, 9, 1)).steps(1).add(request_of(5, 9, 2));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    const auto flags = arrays.edit(trace.common.is_prefilling);
    ASSERT_EQ(flags[0], 0);
    flags[0] = 1;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::foreign_row_datum,
                                           .step = 2,
                                           .request = 0,
                                           .expected = 0,
                                           .seen = 1,
                                           .detail = "is_prefilling"}}));
}

TEST(PlantedRows, ChunkOfAnotherRow) {
  PlantedRun run({});
  run.add(request_of(5, 9, 1)).add(request_of(6, 9, 2));
  run.step([](StepTrace& trace, OwnedArrays& arrays) {
    arrays.edit(mamba2_of(trace).seq_idx_p)[1] = 0;
    arrays.edit(mamba_of(trace).conv1d.batch_ptr)[1] = 0;
  });
  EXPECT_TRUE(found_only(run.findings(), {{.rule = Rule::foreign_row_datum,
                                           .step = 1,
                                           .request = 1,
                                           .row = 1,
                                           .group = 1,
                                           .expected = 1,
                                           .seen = 0,
                                           .detail = "seq_idx_p"},
                                          {.rule = Rule::foreign_row_datum,
                                           .step = 1,
                                           .group = 1,
                                           .expected = 1,
                                           .seen = 0,
                                           .detail = "batch_ptr: row of a conv1d program"}}));
}

TEST(PlantedRows, TokensOfARowGivenToTheNextOne) {
  PlantedRun run({}, CheckScope::step);
  run.add(request_of(5, 9, 1)).add(request_of(6, 9, 2));
  run.step([](StepTrace& trace, OwnedArrays&) { std::swap(trace.tokens[4], trace.tokens[5]); });
  run.steps(1);
  for (const std::int32_t request : {0, 1})
    EXPECT_TRUE(found(run.findings(),
                      {.rule = Rule::running_state_wrong,
                       .step = 2,
                       .request = request,
                       .content = ContentKind::temporal,
                       .expected = 5 + request,
                       .seen = 5 + request,
                       .cause = ExpectedCause{WriteKind::prefill, 1, request, 5 + request}}));
}

}  // namespace
}  // namespace hybridscope::test::planted_rows_test
