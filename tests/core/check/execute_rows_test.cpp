// The formulas of docs/semantics/forward.md, with literal positions. W = 4 throughout.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/execute_step.h"
#include "core/check/symbolic_state.h"
#include "tests/core/check/expected_finding.h"
#include "tests/core/check/hand_made_trace.h"

namespace hybridscope::test::execute_rows_test {
namespace {

using testing::ElementsAre;

// A verify row whose window is blocks 2, 3, 4 in columns 0, 1, 2 (K = 2).
DecodeRow verify_row(std::span<const std::int32_t> window, std::int32_t query,
                     std::int32_t accepted) {
  return {.row = 0,
          .group = 0,
          .num_query_tokens = query,
          .counts_given = true,
          .num_accepted_tokens = accepted,
          .temporal_src_block = window[static_cast<std::size_t>(accepted - 1)],
          .temporal_src_column = accepted - 1,
          .conv_src_block = window[0],
          .conv_src_column = 0,
          .dst_blocks = window,
          .first_dst_column = 0};
}

TEST(ExecuteDecodeRow, StateIsReadFromTheAcceptedColumnAndWrittenAfterEveryToken) {
  const std::vector<std::int32_t> window = {2, 3, 4};
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 4, .query = 3, .blocks = window}});
  bench.put_state(2, 0, 3);
  bench.put_state(3, 0, 4);  // a = 2
  bench.put_state(4, 0, 5);  // a rejected draft
  bench.put_conv(2, 0, {1, 2, 3, 4, 5});
  execute_decode_row(bench.context(), bench.truth(), verify_row(window, 3, 2));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 5);
  EXPECT_EQ(bench.state_of(3, 0), 6);
  EXPECT_EQ(bench.state_of(4, 0), 7);
  EXPECT_EQ(bench.state().temporal(4).event.kind, WriteKind::decode);
  EXPECT_EQ(bench.state().temporal(4).event.num_tokens, 7);
}

TEST(ExecuteDecodeRow, ConvWithCountsKeepsTheTokensBehindTheAcceptedOne) {
  const std::vector<std::int32_t> window = {2, 3, 4};
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 4, .query = 3, .blocks = window}});
  bench.put_state(3, 0, 4);
  bench.put_conv(2, 0, {1, 2, 3, 4, 5});
  // Prior: positions 1..3. L = 3 + 2 = 5: positions 2..3 first, then three tokens.
  execute_decode_row(bench.context(), bench.truth(), verify_row(window, 3, 2));
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(3, 4, 5, 6, 7));
  EXPECT_EQ(bench.state().conv_event(2).kind, WriteKind::decode);
}

TEST(ExecuteDecodeRow, ShortVerifyRowLeavesPositionsBehindItsLengthAlone) {
  const std::vector<std::int32_t> window = {2, 3, 4};
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 9, .query = 1, .blocks = window}});
  bench.put_state(4, 0, 9);  // a = 3
  bench.put_conv(2, 0, {5, 6, 7, 8, 9});
  // L = 3 + 0: positions 3..4 first, then one token; positions 3 and 4 stay.
  execute_decode_row(bench.context(), bench.truth(), verify_row(window, 1, 3));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(8, 9, 10, 8, 9));
  EXPECT_EQ(bench.state_of(2, 0), 10);
  EXPECT_EQ(bench.state_of(3, 0), kUnwritten);
}

TEST(ExecuteDecodeRow, ConvWithoutCountsShiftsByTheQuery) {
  const std::vector<std::int32_t> window = {2};
  RowBench bench({}, {{.computed = 2, .query = 1, .blocks = window}});
  bench.put(2, 0, 2);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(kBefore, 1, 2));
  execute_decode_row(bench.context(), bench.truth(),
                     {.row = 0,
                      .group = 0,
                      .num_query_tokens = 1,
                      .temporal_src_block = 2,
                      .temporal_src_column = 0,
                      .conv_src_block = 2,
                      .conv_src_column = 0,
                      .dst_blocks = window,
                      .first_dst_column = 0});
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(1, 2, 3));
  EXPECT_EQ(bench.state_of(2, 0), 3);
  EXPECT_EQ(bench.state().conv_event(2).kind, WriteKind::decode);
}

TEST(ExecuteDecodeRow, ModeAllReadsOneColumnAndWritesAnother) {
  RowBench bench({.mode = MambaCacheMode::all}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  bench.put(2, 0, 8);
  const std::vector<std::int32_t> target = {3};
  execute_decode_row(bench.context(), bench.truth(),
                     {.row = 0,
                      .group = 0,
                      .num_query_tokens = 1,
                      .temporal_src_block = 2,
                      .temporal_src_column = 0,
                      .conv_src_block = 2,
                      .conv_src_column = 0,
                      .dst_blocks = target,
                      .first_dst_column = 1});
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 8);
  EXPECT_EQ(bench.state_of(3, 0), 9);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(7, 8, 9));
}

TEST(ExecuteDecodeRow, WrongStateStaysWrongAndKeepsItsCount) {
  const std::vector<std::int32_t> window = {2, 3, 4};
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 9, .query = 3, .blocks = window}});
  bench.put_state(2, 0, 7);  // expected S(9)
  bench.put_conv(2, 0, {7, 8, 9, kUnwritten, kUnwritten});
  execute_decode_row(bench.context(), bench.truth(), verify_row(window, 3, 1));
  EXPECT_TRUE(
      found_only(bench.findings(), {{.rule = Rule::running_state_wrong,
                                     .step = 2,
                                     .request = 0,
                                     .group = 0,
                                     .content = ContentKind::temporal,
                                     .column = 0,
                                     .block = 2,
                                     .expected = 9,
                                     .seen = 7,
                                     .cause = ExpectedCause{WriteKind::prefill, 1, 0, 7}}}));
  EXPECT_EQ(bench.state_of(4, 0), kForeign);  // S(7) with tokens 10, 11 and 12 folded in
  EXPECT_EQ(bench.state().temporal(4).event.num_tokens, 10);
}

TEST(ExecutePrefillRow, FirstChunkStartsFromNothing) {
  RowBench bench({}, {{.computed = 0, .query = 5, .blocks = {2}}});
  execute_prefill_row(bench.context(), bench.truth(),
                      {.row = 0,
                       .group = 0,
                       .num_query_tokens = 5,
                       .src_block = 2,
                       .src_column = 0,
                       .dst_block = 2,
                       .dst_column = 0});
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 5);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(3, 4, 5));
}

TEST(ExecutePrefillRow, ChunkShorterThanTheWindowShiftsIt) {
  for (const auto& [query, window] :
       {std::pair{1, std::vector{4, 5, 6}}, {2, {5, 6, 7}}, {3, {6, 7, 8}}}) {
    RowBench bench({.num_speculative_tokens = 1}, {{.computed = 5, .query = query, .blocks = {2}}});
    bench.put_state(2, 0, 5);
    bench.put_conv(2, 0, {3, 4, 5, 9});
    execute_prefill_row(bench.context(), bench.truth(),
                        {.row = 0,
                         .group = 0,
                         .num_query_tokens = query,
                         .has_initial_state = true,
                         .src_block = 2,
                         .src_column = 0,
                         .dst_block = 2,
                         .dst_column = 0});
    EXPECT_TRUE(nothing_found(bench.findings()));
    std::vector<std::int32_t> expected = window;
    expected.push_back(9);  // behind the window nothing changes
    EXPECT_EQ(bench.conv_of(2, 0), expected);
    EXPECT_EQ(bench.state_of(2, 0), 5 + query);
  }
}

TEST(ExecutePrefillRow, ShortFirstChunkHasNothingBeforeItsFirstToken) {
  RowBench bench({}, {{.computed = 0, .query = 2, .blocks = {2}}});
  execute_prefill_row(bench.context(), bench.truth(),
                      {.row = 0,
                       .group = 0,
                       .num_query_tokens = 2,
                       .src_block = 2,
                       .src_column = 0,
                       .dst_block = 2,
                       .dst_column = 0});
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(kBefore, 1, 2));
}

// Mode all, B = 4: a row that continues the state of boundaries[0], its first boundary's block, and
// ends in column 2.
PrefillRow over_two_boundaries(std::int32_t row, std::int32_t num_tokens,
                               std::span<const std::int32_t> boundaries, std::int32_t dst_block) {
  return {.row = row,
          .group = 0,
          .num_query_tokens = num_tokens,
          .has_initial_state = true,
          .src_block = boundaries[0],
          .src_column = 0,
          .dst_block = dst_block,
          .dst_column = 2,
          .boundary_blocks = boundaries,
          .first_boundary_column = 0,
          .boundary_block_size = 4};
}

TEST(ExecutePrefillRow, ModeAllStoresEveryBoundary) {
  // B = 4, tokens 2..9: boundaries 4 and 8 in columns 0 and 1, the end in column 2.
  RowBench bench({.mode = MambaCacheMode::all, .block_size = 4},
                 {{.computed = 2, .query = 8, .blocks = {2, 3, 4}}});
  bench.put(2, 0, 2);
  const std::vector<std::int32_t> boundaries = {2, 3};
  execute_prefill_row(bench.context(), bench.truth(), over_two_boundaries(0, 8, boundaries, 4));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 4);
  EXPECT_EQ(bench.state_of(3, 0), 8);
  EXPECT_EQ(bench.state_of(4, 0), 10);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(2, 3, 4));
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(bench.conv_of(4, 0), ElementsAre(8, 9, 10));
}

// Known bug 58. Row 2 has 3 computed tokens, so its boundary comes after one of its own. Of the
// window's other two, the token of row 1 stands in front of it in the batch, and before that the
// last of row 0. Boundary 1 would need a third piece of 8 tokens.
TEST(ExecutePrefillRow, ByPieceABoundaryTakesTheTokensInFrontInTheBatch) {
  RowBench bench({.mode = MambaCacheMode::all, .block_size = 4},
                 {{.computed = 4, .query = 2, .blocks = {2, 3}},
                  {.computed = 0, .query = 1, .blocks = {4}},
                  {.computed = 3, .query = 9, .blocks = {5, 6, 7}}});
  bench.trace().kernels.stores_boundaries_by_piece = true;
  bench.put(5, 2, 3);
  bench.put_conv(6, 2, {1, 2, 3});
  const std::vector<std::int32_t> boundaries = {5, 6};
  execute_prefill_row(bench.context(), bench.truth(), over_two_boundaries(2, 9, boundaries, 7));
  EXPECT_THAT(bench.state().conv(5),
              ElementsAre(bench.prefix(0, 6), bench.prefix(1, 1), bench.prefix(2, 4)));
  EXPECT_THAT(bench.conv_of(6, 2), ElementsAre(1, 2, 3));
  EXPECT_THAT(bench.conv_of(7, 2), ElementsAre(10, 11, 12));
}

// Nothing stands in front of the first row.
TEST(ExecutePrefillRow, ByPieceTheFirstRowsBoundaryTakesWhatIsNotThere) {
  RowBench bench({.mode = MambaCacheMode::all, .block_size = 4},
                 {{.computed = 3, .query = 9, .blocks = {5, 6, 7}}});
  bench.trace().kernels.stores_boundaries_by_piece = true;
  bench.put(5, 0, 3);
  const std::vector<std::int32_t> boundaries = {5, 6};
  execute_prefill_row(bench.context(), bench.truth(), over_two_boundaries(0, 9, boundaries, 7));
  EXPECT_THAT(bench.state().conv(5), ElementsAre(kPoison, kPoison, bench.prefix(0, 4)));
}

TEST(ExecutePrefillRow, StoresAStateInsideItself) {
  // B = 8, tokens 1..14: the state after 9 tokens in column 0, the end in column 1.
  RowBench bench({.block_size = 8}, {{.query = 14, .blocks = {2, 3}}});
  PrefillRow row{.row = 0,
                 .group = 0,
                 .num_query_tokens = 14,
                 .dst_block = 3,
                 .dst_column = 1,
                 .checkpoint_tokens = 9,
                 .checkpoint_block = 2,
                 .checkpoint_column = 0};
  execute_prefill_row(bench.context(), bench.truth(), row);
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 9);
  EXPECT_EQ(bench.state_of(3, 0), 14);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(7, 8, 9));
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(12, 13, 14));
}

TEST(ExecutePrefillRow, ACheckpointInItsOwnBlockLeavesItsWindowThere) {
  RowBench bench({.block_size = 8}, {{.query = 14, .blocks = {2, 3}}});
  execute_prefill_row(bench.context(), bench.truth(),
                      {.row = 0,
                       .group = 0,
                       .num_query_tokens = 14,
                       .dst_block = 3,
                       .dst_column = 1,
                       .checkpoint_tokens = 8,
                       .checkpoint_block = 3,
                       .checkpoint_column = 0});
  EXPECT_EQ(bench.state_of(3, 0), 14);
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(6, 7, 8));
}

TEST(ExecutePrefillRow, ACheckpointForTheNullBlockIsNotStored) {
  RowBench bench({.block_size = 8}, {{.query = 14, .blocks = {0, 3}}});
  execute_prefill_row(bench.context(), bench.truth(),
                      {.row = 0,
                       .group = 0,
                       .num_query_tokens = 14,
                       .dst_block = 3,
                       .dst_column = 1,
                       .checkpoint_tokens = 8,
                       .checkpoint_block = 0,
                       .checkpoint_column = 0});
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(12, 13, 14));
}

TEST(ExecutePrefillRow, BoundaryOutsideTheRowIsNotStored) {
  RowBench bench({.mode = MambaCacheMode::all, .block_size = 4},
                 {{.computed = 4, .query = 2, .blocks = {2, 3}}});
  bench.put(2, 0, 4);
  const std::vector<std::int32_t> boundaries = {2};
  execute_prefill_row(bench.context(), bench.truth(),
                      {.row = 0,
                       .group = 0,
                       .num_query_tokens = 2,
                       .has_initial_state = true,
                       .src_block = 2,
                       .src_column = 0,
                       .dst_block = 3,
                       .dst_column = 1,
                       .boundary_blocks = boundaries,
                       .first_boundary_column = 0,
                       .boundary_block_size = 4});
  EXPECT_TRUE(found_only(bench.findings(),
                         {{.rule = Rule::metadata_inconsistent,
                           .column = 0,
                           .expected = 4,
                           .seen = 4,
                           .detail = "the row does not cross the boundary it is told to store"}}));
  EXPECT_EQ(bench.state_of(3, 0), 6);
}

TEST(ExecuteUnneutralPaddingRow, FoldsAPlaceholderIntoItsBlock) {
  RowBench bench({}, {{.computed = 4, .query = 1, .blocks = {2}}});
  bench.put(2, 0, 4);
  execute_unneutral_padding_row(bench.context(), 0, 2);
  EXPECT_EQ(bench.state_of(2, 0), kForeign);
  EXPECT_EQ(bench.state().temporal(2).event.num_tokens, 5);
  EXPECT_EQ(bench.state().temporal(2).event.request, RequestId{});
}

TEST(RowTruth, PrefixesRunFromTheComputedTokensToTheEndOfTheRow) {
  RowBench bench({}, {{.computed = 5, .query = 2}, {.computed = 0, .query = 3}});
  EXPECT_THAT(bench.truth().prefixes(0),
              ElementsAre(bench.prefix(0, 5), bench.prefix(0, 6), bench.prefix(0, 7)));
  EXPECT_THAT(bench.truth().prefixes(1), ElementsAre(bench.prefix(1, 0), bench.prefix(1, 1),
                                                     bench.prefix(1, 2), bench.prefix(1, 3)));
  EXPECT_EQ(bench.truth().num_computed_tokens(0), 5);
  EXPECT_EQ(bench.truth().num_query_tokens(1), 3);
}

TEST(RowTruth, HistoryEndsWithTheLastComputedToken) {
  RowBench bench({}, {{.computed = 5, .query = 1}});
  EXPECT_THAT(bench.truth().history(0),
              ElementsAre(bench.prefix(0, 3), bench.prefix(0, 4), bench.prefix(0, 5)));
}

TEST(RowTruth, BeforeTheFirstTokenThereIsNothing) {
  RowBench bench({}, {{.computed = 1, .query = 2}});
  EXPECT_THAT(bench.truth().history(0),
              ElementsAre(kBeforeFirstToken, kBeforeFirstToken, bench.prefix(0, 1)));
  EXPECT_EQ(bench.truth().at(0, -1), kBeforeFirstToken);
  EXPECT_EQ(bench.truth().at(0, 0), kBeforeFirstToken);
  EXPECT_EQ(bench.truth().at(0, 1), bench.prefix(0, 1));
  EXPECT_EQ(bench.truth().at(0, 3), bench.prefix(0, 3));
}

TEST(RowTruth, FoldingAnotherStepForgetsTheOneBefore) {
  RowBench first({}, {{.computed = 9, .query = 4}, {.computed = 2, .query = 2}});
  RowBench second({}, {{.computed = 3, .query = 1}});
  RowTruth truth;
  truth.fold(first.trace(), 4);
  truth.fold(second.trace(), 4);
  EXPECT_EQ(truth.num_computed_tokens(0), 3);
  EXPECT_THAT(truth.prefixes(0), ElementsAre(second.prefix(0, 3), second.prefix(0, 4)));
}

TEST(RowTruth, AWiderKernelHasALongerHistory) {
  RowBench bench({.conv_kernel = 6}, {{.computed = 7, .query = 1}});
  EXPECT_THAT(bench.truth().history(0),
              ElementsAre(bench.prefix(0, 3), bench.prefix(0, 4), bench.prefix(0, 5),
                          bench.prefix(0, 6), bench.prefix(0, 7)));
}

}  // namespace

}  // namespace hybridscope::test::execute_rows_test
