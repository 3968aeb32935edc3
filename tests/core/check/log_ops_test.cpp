// Operations that the checker notes, with literal numbers. One mamba group, W = 4.
#include "core/check/state_mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/execute_step.h"
#include "tests/core/check/hand_made_trace.h"

namespace hybridscope::test::log_ops_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr auto kState = ForwardWriteKind::temporal;
constexpr auto kTail = ForwardWriteKind::conv_tail;
constexpr auto kWindow = ForwardWriteKind::conv_window;

// The operations that `bench` executes.
const StateOps& ops_of(RowBench& bench) { return bench.shared().ops; }

void log(RowBench& bench) {
  bench.shared().logs_ops = true;
  log_tokens(bench.context(), bench.truth());
}

DecodeRow decode_row(std::span<const std::int32_t> window, std::int32_t src) {
  return {.row = 0,
          .group = 0,
          .num_query_tokens = 1,
          .temporal_src_block = src,
          .conv_src_block = src,
          .dst_blocks = window,
          .first_dst_column = 0};
}

TEST(LogOps, TokensAreThoseOfTheBatchWithTheirPrefixes) {
  RowBench bench({}, {{.computed = 4, .query = 2, .blocks = {2}}, {.query = 1, .blocks = {3}}});
  log(bench);
  EXPECT_EQ(ops_of(bench).tokens, bench.trace().tokens);
  EXPECT_THAT(ops_of(bench).token_fingerprints,
              ElementsAre(bench.prefix(0, 5), bench.prefix(0, 6), bench.prefix(1, 1)));
}

TEST(LogOps, VerifyRowReadsBehindTheAcceptedTokenAndWritesAStateAToken) {
  const std::vector<std::int32_t> window = {2, 3, 4};
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 4, .query = 3, .blocks = window}});
  log(bench);
  execute_decode_row(bench.context(), bench.truth(),
                     {.row = 0,
                      .group = 0,
                      .num_query_tokens = 3,
                      .counts_given = true,
                      .num_accepted_tokens = 2,
                      .temporal_src_block = 3,
                      .temporal_src_column = 1,
                      .conv_src_block = 2,
                      .conv_src_column = 0,
                      .dst_blocks = window,
                      .first_dst_column = 0});
  EXPECT_THAT(ops_of(bench).rows, ElementsAre(ForwardRow{.group_index = 0,
                                                         .temporal_src_block = 3,
                                                         .conv_src_block = 2,
                                                         .conv_src_position = 1,
                                                         .first_token = 0,
                                                         .num_tokens = 3,
                                                         .first_write = 0,
                                                         .num_writes = 4,
                                                         .start = kPoison}));
  EXPECT_THAT(ops_of(bench).writes,
              ElementsAre(ForwardWrite{kState, 2, 1}, ForwardWrite{kState, 3, 2},
                          ForwardWrite{kState, 4, 3}, ForwardWrite{kWindow, 2, 3}));
  EXPECT_THAT(ops_of(bench).batches, ElementsAre(StateOpBatch{StateOpKind::forward, 0, 1}));
}

TEST(LogOps, WritesThatAreDroppedAreLeftOut) {
  const std::vector<std::int32_t> window = {2, 0, -1};
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 4, .query = 3, .blocks = {2}}});
  log(bench);
  DecodeRow row = decode_row(window, 2);
  row.num_query_tokens = 3;
  row.counts_given = true;
  execute_decode_row(bench.context(), bench.truth(), row);
  EXPECT_THAT(ops_of(bench).writes,
              ElementsAre(ForwardWrite{kState, 2, 1}, ForwardWrite{kWindow, 2, 3}));
}

TEST(LogOps, RowThatWritesNothingIsLeftOut) {
  const std::vector<std::int32_t> window = {0};
  RowBench bench({}, {{.computed = 4, .query = 1, .blocks = {2}}});
  log(bench);
  execute_decode_row(bench.context(), bench.truth(), decode_row(window, 2));
  EXPECT_THAT(ops_of(bench).rows, IsEmpty());
  EXPECT_THAT(ops_of(bench).batches, IsEmpty());
}

// One column, two tokens: the state after the first one is gone before anybody reads it.
TEST(LogOps, OfTwoWritesToOneBlockTheLaterIsKept) {
  const std::vector<std::int32_t> window = {2};
  RowBench bench({.num_speculative_tokens = 1}, {{.computed = 4, .query = 2, .blocks = window}});
  log(bench);
  DecodeRow row = decode_row(window, 2);
  row.num_query_tokens = 2;
  execute_decode_row(bench.context(), bench.truth(), row);
  EXPECT_THAT(ops_of(bench).writes,
              ElementsAre(ForwardWrite{kState, 2, 2}, ForwardWrite{kTail, 2, 2}));
}

TEST(LogOps, SourcesThatDoNotExistArePoison) {
  const std::vector<std::int32_t> window = {2};
  for (const std::int32_t source : {0, -1, 16}) {
    RowBench bench({.num_blocks = 16}, {{.computed = 4, .query = 1, .blocks = {2}}});
    log(bench);
    execute_decode_row(bench.context(), bench.truth(), decode_row(window, source));
    ASSERT_EQ(ops_of(bench).rows.size(), 1u);
    EXPECT_EQ(ops_of(bench).rows[0].temporal_src_block, kPoisonSource);
    EXPECT_EQ(ops_of(bench).rows[0].conv_src_block, kPoisonSource);
    EXPECT_EQ(ops_of(bench).rows[0].start, kPoison);
  }
}

TEST(LogOps, FirstPrefillStartsFromTheSeed) {
  RowBench bench({}, {{.computed = 0, .query = 5, .blocks = {2}}});
  log(bench);
  execute_prefill_row(
      bench.context(), bench.truth(),
      {.row = 0, .group = 0, .num_query_tokens = 5, .dst_block = 2, .dst_column = 0});
  EXPECT_THAT(ops_of(bench).rows, ElementsAre(ForwardRow{.group_index = 0,
                                                         .temporal_src_block = kNoSource,
                                                         .conv_src_block = kNoSource,
                                                         .num_tokens = 5,
                                                         .num_writes = 2,
                                                         .start = seed_fingerprint(0)}));
  EXPECT_THAT(ops_of(bench).writes,
              ElementsAre(ForwardWrite{kState, 2, 5}, ForwardWrite{kTail, 2, 5}));
}

// has_initial_states says nothing is there although 4 tokens are computed.
TEST(LogOps, PrefillThatForgetsItsStateStartsFromPoison) {
  RowBench bench({}, {{.computed = 4, .query = 2, .blocks = {2}}});
  log(bench);
  execute_prefill_row(
      bench.context(), bench.truth(),
      {.row = 0, .group = 0, .num_query_tokens = 2, .dst_block = 2, .dst_column = 0});
  ASSERT_EQ(ops_of(bench).rows.size(), 1u);
  EXPECT_EQ(ops_of(bench).rows[0].temporal_src_block, kNoSource);
  EXPECT_EQ(ops_of(bench).rows[0].start, kPoison);
  EXPECT_EQ(ops_of(bench).rows[0].conv_src_block, kNoSource);
}

// Mode all, blocks of 4: tokens 3..10 end at the boundaries 4 and 8 on their way.
TEST(LogOps, PrefillWritesAStateAtEachBoundary) {
  const std::vector<std::int32_t> boundaries = {2, 3};
  RowBench bench({.mode = MambaCacheMode::all, .block_size = 4},
                 {{.computed = 2, .query = 8, .blocks = {2, 3, 4}}});
  log(bench);
  execute_prefill_row(bench.context(), bench.truth(),
                      {.row = 0,
                       .group = 0,
                       .num_query_tokens = 8,
                       .has_initial_state = true,
                       .src_block = 2,
                       .src_column = 0,
                       .dst_block = 4,
                       .dst_column = 2,
                       .boundary_blocks = boundaries,
                       .first_boundary_column = 0,
                       .boundary_block_size = 4});
  EXPECT_THAT(ops_of(bench).writes,
              ElementsAre(ForwardWrite{kState, 2, 2}, ForwardWrite{kTail, 2, 2},
                          ForwardWrite{kState, 3, 6}, ForwardWrite{kTail, 3, 6},
                          ForwardWrite{kState, 4, 8}, ForwardWrite{kTail, 4, 8}));
  EXPECT_EQ(ops_of(bench).rows[0].temporal_src_block, 2);
  EXPECT_EQ(ops_of(bench).rows[0].conv_src_block, 2);
}

// Behind the tokens of the batch there is one more, which is no token.
TEST(LogOps, PaddingRowFoldsATokenOfItsOwn) {
  RowBench bench({}, {{.computed = 4, .query = 1, .blocks = {2}}});
  log(bench);
  execute_unneutral_padding_row(bench.context(), 0, 5);
  EXPECT_EQ(ops_of(bench).tokens.size(), 2u);
  EXPECT_EQ(ops_of(bench).tokens[1], kPoison);
  EXPECT_THAT(ops_of(bench).rows, ElementsAre(ForwardRow{.group_index = 0,
                                                         .temporal_src_block = 5,
                                                         .conv_src_block = kNoSource,
                                                         .first_token = 1,
                                                         .num_tokens = 1,
                                                         .num_writes = 1,
                                                         .start = kPoison}));
  EXPECT_THAT(ops_of(bench).writes, ElementsAre(ForwardWrite{kState, 5, 1}));
}

CopyLaunch launch_of(std::initializer_list<StateCopyTrace> copies) {
  CopyLaunch launch;
  for (StateCopyTrace copy : copies) {
    copy.decision = static_cast<std::int32_t>(launch.decisions.size());
    copy.group = 0;
    launch.copies.push_back(copy);
    launch.decisions.push_back({.request = {0}, .row = 0, .decision = {}});
  }
  return launch;
}

TEST(LogOps, CopiesOfALaunchAreOneBatch) {
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 8, .query = 1, .blocks = {2, 3, 4}}});
  log(bench);
  CopyExecutor executor(bench.shared().config);
  executor.execute(
      bench.context(),
      launch_of(
          {{.conv_src_block = 2, .temporal_src_block = 3, .dst_block = 4, .accept_token_bias = 1},
           {.conv_src_block = 0, .temporal_src_block = -1, .dst_block = 2}}),
      WriteKind::pre_copy);
  executor.execute(bench.context(),
                   launch_of({{.conv_src_block = 2, .temporal_src_block = 2, .dst_block = 3}}),
                   WriteKind::post_copy);
  EXPECT_THAT(ops_of(bench).copies, ElementsAre(StateCopyOp{0, 2, 3, 4, 1},
                                                StateCopyOp{0, kPoisonSource, kPoisonSource, 2, 0},
                                                StateCopyOp{0, 2, 2, 3, 0}));
  EXPECT_THAT(ops_of(bench).batches, ElementsAre(StateOpBatch{StateOpKind::copy, 0, 2},
                                                 StateOpBatch{StateOpKind::copy, 2, 1}));
}

// A shift of the whole window, and a write through the null block.
TEST(LogOps, CopiesThatAreNotCarriedOutAreLeftOut) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  log(bench);
  CopyExecutor(bench.shared().config)
      .execute(bench.context(),
               launch_of({{.conv_src_block = 2,
                           .temporal_src_block = 2,
                           .dst_block = 3,
                           .accept_token_bias = 3},
                          {.conv_src_block = 2, .temporal_src_block = 2, .dst_block = 0}}),
               WriteKind::pre_copy);
  EXPECT_THAT(ops_of(bench).copies, IsEmpty());
  EXPECT_THAT(ops_of(bench).batches, IsEmpty());
}

TEST(LogOps, NothingIsKeptUnlessAskedFor) {
  const std::vector<std::int32_t> window = {2};
  RowBench bench({}, {{.computed = 4, .query = 1, .blocks = {2}}});
  log_tokens(bench.context(), bench.truth());
  execute_decode_row(bench.context(), bench.truth(), decode_row(window, 2));
  EXPECT_THAT(ops_of(bench).tokens, IsEmpty());
  EXPECT_THAT(ops_of(bench).rows, IsEmpty());
  EXPECT_THAT(ops_of(bench).writes, IsEmpty());
}

}  // namespace
}  // namespace hybridscope::test::log_ops_test
