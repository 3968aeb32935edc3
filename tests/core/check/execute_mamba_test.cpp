// Which batch row a metadata row is, and which rows a forward leaves alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/execute_step.h"
#include "tests/core/check/expected_finding.h"
#include "tests/core/check/hand_made_trace.h"

namespace hybridscope::test::execute_mamba_test {
namespace {

using testing::ElementsAre;

GroupTrace mamba_group(BuilderMetadata metadata) {
  GroupTrace group;
  group.group = 0;
  group.is_mamba = true;
  group.block_size = 8;
  group.metadata = metadata;
  return group;
}

template <class T>
TensorView<T> view(const std::vector<T>& values) {
  return vector_view(values.data(), static_cast<std::int32_t>(values.size()));
}

TensorView<std::int32_t> matrix(const std::vector<std::int32_t>& values, std::int32_t cols) {
  return matrix_view(values.data(), static_cast<std::int32_t>(values.size()) / cols, cols);
}

TEST(ExecuteGdn, MixedBatchFindsItsRowsByTheMasks) {
  // K = 1. Rows: prefill, verify, prefill, verify; the verify rows have blocks 4, 5 and 8, 9.
  RowBench bench({.num_speculative_tokens = 1},
                 {{.computed = 0, .query = 3, .blocks = {2}},
                  {.computed = 3, .query = 2, .blocks = {4, 5}},
                  {.computed = 4, .query = 1, .blocks = {6}},
                  {.computed = 5, .query = 2, .blocks = {8, 9}, .num_accepted_tokens = 2}});
  bench.put(4, 1, 3);
  bench.put(6, 2, 4);
  bench.put_state(9, 3, 5);
  bench.put_conv(8, 3, {2, 3, 4, 5});
  const std::vector<std::uint8_t> masks = {0, 1, 0, 1};
  const std::vector<std::uint8_t> has_initial_state = {0, 1};
  const std::vector<std::int32_t> spec_states = {4, 5, 8, 9};
  const std::vector<std::int32_t> states = {2, 6};
  const std::vector<std::int32_t> spec_starts = {0, 2, 4};
  const std::vector<std::int32_t> starts = {0, 3, 4};
  const std::vector<std::int32_t> accepted = {1, 2};
  execute_mamba_group(bench.context(), bench.truth(),
                      mamba_group(GdnMetadata{.num_prefills = 2,
                                              .num_prefill_tokens = 4,
                                              .num_spec_decodes = 2,
                                              .num_spec_decode_tokens = 4,
                                              .has_initial_state = view(has_initial_state),
                                              .spec_query_start_loc = view(spec_starts),
                                              .non_spec_query_start_loc = view(starts),
                                              .spec_state_indices_tensor = matrix(spec_states, 2),
                                              .non_spec_state_indices_tensor = view(states),
                                              .spec_sequence_masks = view(masks),
                                              .num_accepted_tokens = view(accepted)}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 3);
  EXPECT_EQ(bench.state_of(4, 1), 4);
  EXPECT_EQ(bench.state_of(5, 1), 5);
  EXPECT_EQ(bench.state_of(6, 2), 5);
  EXPECT_EQ(bench.state_of(8, 3), 6);
  EXPECT_EQ(bench.state_of(9, 3), 7);
  EXPECT_THAT(bench.conv_of(8, 3), ElementsAre(4, 5, 6, 7));
}

TEST(ExecuteGdn, PaddingRowsOfAVerifyBatchAreLeftAlone) {
  RowBench bench({.num_speculative_tokens = 1}, {{.computed = 3, .query = 2, .blocks = {4, 5}}});
  bench.put(4, 0, 3);
  const std::vector<std::int32_t> spec_states = {4, 5, 0, 0, 0, 0};
  const std::vector<std::int32_t> spec_starts = {0, 2, 2, 2};
  const std::vector<std::uint8_t> masks = {1, 0, 0};
  const std::vector<std::int32_t> accepted = {1, 1, 1};
  execute_mamba_group(bench.context(), bench.truth(),
                      mamba_group(GdnMetadata{.num_spec_decodes = 1,
                                              .num_spec_decode_tokens = 2,
                                              .spec_query_start_loc = view(spec_starts),
                                              .spec_state_indices_tensor = matrix(spec_states, 2),
                                              .spec_sequence_masks = view(masks),
                                              .num_accepted_tokens = view(accepted)}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(5, 0), 5);
  EXPECT_EQ(bench.state_of(0, 0), kUnwritten);
}

TEST(ExecuteMamba, DecodeRowsStandBeforePrefillRows) {
  RowBench bench(
      {}, {{.computed = 5, .query = 1, .blocks = {2}}, {.computed = 0, .query = 4, .blocks = {3}}});
  bench.put(2, 0, 5);
  const std::vector<std::int32_t> decode_states = {2};
  const std::vector<std::int32_t> prefill_states = {3};
  const std::vector<std::uint8_t> has_initial_states = {0};
  execute_mamba_group(
      bench.context(), bench.truth(),
      mamba_group(MambaMetadata{.num_prefills = 1,
                                .num_prefill_tokens = 4,
                                .num_decodes = 1,
                                .num_decode_tokens = 1,
                                .num_reqs = 2,
                                .has_initial_states_p = view(has_initial_states),
                                .state_indices_tensor_p = view(prefill_states),
                                .state_indices_tensor_d = matrix(decode_states, 1)}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 6);
  EXPECT_EQ(bench.state_of(3, 1), 4);
}

TEST(ExecuteMamba, RowWithNullOrPadInItsFirstColumnIsSkippedWhole) {
  for (const std::int32_t first : {kNullBlock, kPadSlotId}) {
    RowBench bench({.num_speculative_tokens = 1}, {{.computed = 5, .query = 2, .blocks = {2, 3}}});
    bench.put(3, 0, 4);
    const std::vector<std::int32_t> states = {first, 3};
    const std::vector<std::int32_t> starts = {0, 2};
    const std::vector<std::int32_t> accepted = {1};
    execute_mamba_group(bench.context(), bench.truth(),
                        mamba_group(MambaMetadata{.num_decodes = 1,
                                                  .num_decode_tokens = 2,
                                                  .num_reqs = 1,
                                                  .state_indices_tensor_d = matrix(states, 2),
                                                  .query_start_loc_d = view(starts),
                                                  .num_accepted_tokens = view(accepted)}));
    EXPECT_TRUE(found_only(bench.findings(), {{.rule = Rule::foreign_write,
                                               .request = 0,
                                               .row = 0,
                                               .group = 0,
                                               .content = ContentKind::temporal,
                                               .block = first}}));
    EXPECT_EQ(bench.state_of(3, 0), 4);
  }
}

TEST(ExecuteMamba, RowWithoutTokensDoesNothing) {
  RowBench bench({.num_speculative_tokens = 1}, {{.computed = 5, .query = 0, .blocks = {2, 3}}});
  bench.put(2, 0, 4);  // not S(5): a read would be a finding
  const std::vector<std::int32_t> states = {2, 3};
  const std::vector<std::int32_t> starts = {0, 0};
  const std::vector<std::int32_t> accepted = {1};
  execute_mamba_group(bench.context(), bench.truth(),
                      mamba_group(MambaMetadata{.num_decodes = 1,
                                                .num_reqs = 1,
                                                .state_indices_tensor_d = matrix(states, 2),
                                                .query_start_loc_d = view(starts),
                                                .num_accepted_tokens = view(accepted)}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 4);
}

TEST(ExecuteMamba, PaddingRowThatIsNotNullRunsWhereNoOffsetsStopIt) {
  // Without query_start_loc_d (K = 0) every row has one token.
  RowBench bench({}, {{.computed = 5, .query = 1, .blocks = {2}}});
  bench.put(2, 0, 5);
  bench.put(7, 0, 3);
  const std::vector<std::int32_t> states = {2, 7};
  execute_mamba_group(bench.context(), bench.truth(),
                      mamba_group(MambaMetadata{.num_decodes = 2,
                                                .num_decode_tokens = 2,
                                                .num_reqs = 2,
                                                .state_indices_tensor_d = matrix(states, 1)}));
  EXPECT_TRUE(found_only(bench.findings(), {{.rule = Rule::padded_row_not_null,
                                             .row = 1,
                                             .group = 0,
                                             .block = 7,
                                             .detail = "state index of a padding row"}}));
  EXPECT_EQ(bench.state_of(2, 0), 6);
  EXPECT_EQ(bench.state_of(7, 0), kForeign);
}

struct BenchCopy {
  std::int32_t row = 0;
  std::int32_t src = 0;       // conv source; temporal source unless given
  std::int32_t temporal = 0;  // 0: as src
  std::int32_t dst = 0;
  std::int32_t dst_column = 0;
  std::int32_t bias = 0;
};

CopyLaunch launch_of(std::initializer_list<BenchCopy> copies) {
  CopyLaunch launch;
  for (const BenchCopy& copy : copies) {
    StateCopyDecision decision;
    decision.outcome = StateCopyOutcome::copy;
    decision.accept_token_bias = copy.bias;
    decision.dst_col = copy.dst_column;
    launch.copies.push_back({.decision = static_cast<std::int32_t>(launch.decisions.size()),
                             .group = 0,
                             .conv_src_block = copy.src,
                             .temporal_src_block = copy.temporal > 0 ? copy.temporal : copy.src,
                             .dst_block = copy.dst,
                             .accept_token_bias = copy.bias});
    launch.decisions.push_back({.request = {copy.row}, .row = copy.row, .decision = decision});
  }
  return launch;
}

void execute(RowBench& bench, const CopyLaunch& launch) {
  CopyExecutor(bench.shared().config).execute(bench.context(), launch, WriteKind::post_copy);
}

TEST(CopyExecutor, CopiesStateAndWindowAndNamesTheWrite) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  bench.put(2, 0, 8);
  execute(bench, launch_of({{.src = 2, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(3, 0), 8);
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(6, 7, 8));
  const WriteEvent& event = bench.state().temporal(3).event;
  EXPECT_EQ(event.kind, WriteKind::post_copy);
  EXPECT_EQ(event.step, 2);
  EXPECT_EQ(event.request, RequestId{0});
  EXPECT_EQ(event.num_tokens, 8);
  EXPECT_EQ(bench.state().conv_event(3).kind, WriteKind::post_copy);
  EXPECT_NE(bench.state().conv_event(3).ordinal, event.ordinal);
}

TEST(CopyExecutor, ShiftTakesPositionsFromTheBiasOn) {
  // W = 4, K = 2: five positions. Bias 2 leaves the last two positions of the target alone.
  RowBench bench({.num_speculative_tokens = 2}, {{.computed = 9, .query = 3, .blocks = {2, 3, 4}}});
  bench.put_conv(3, 0, {5, 6, 7, 8, 9});
  bench.put_state(4, 0, 8);
  bench.put_conv(2, 0, {1, 2, 3, 4, 5});
  execute(bench, launch_of({{.src = 3, .temporal = 4, .dst = 2, .bias = 2}}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(2, 0), 8);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(7, 8, 9, 4, 5));
}

TEST(CopyExecutor, ShiftInsideOneBlockMovesEachTokenOnce) {  // known bug 4: memmove
  RowBench bench({.num_speculative_tokens = 2},
                 {{.computed = 13, .query = 3, .blocks = {2, 3, 4}}});
  bench.put_conv(2, 0, {12, 13, 14, 15, 16});
  bench.put_state(4, 0, 16);
  execute(bench, launch_of({{.src = 2, .temporal = 4, .dst = 2, .bias = 2}}));
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(14, 15, 16, 15, 16));
  EXPECT_EQ(bench.state_of(2, 0), 16);
}

TEST(CopyExecutor, EverySourceIsReadBeforeAnythingIsWritten) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  bench.put(2, 0, 4);
  bench.put(3, 0, 8);
  execute(bench, launch_of({{.src = 2, .dst = 3, .dst_column = 1}, {.src = 3, .dst = 2}}));
  EXPECT_EQ(bench.state_of(2, 0), 8);
  EXPECT_EQ(bench.state_of(3, 0), 4);
  EXPECT_THAT(bench.conv_of(2, 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(bench.conv_of(3, 0), ElementsAre(2, 3, 4));
  // On a device the outcome would depend on which copy runs first.
  EXPECT_TRUE(
      found_only(bench.findings(), {{.rule = Rule::conflicting_copies,
                                     .step = 2,
                                     .block = 2,
                                     .detail = "a copy reads what another copy writes"},
                                    {.rule = Rule::conflicting_copies, .step = 2, .block = 3}}));
}

TEST(CopyExecutor, TwoCopiesIntoOneBlockConflict) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3, 4}}});
  bench.put(2, 0, 4);
  bench.put(3, 0, 8);
  execute(bench, launch_of({{.src = 2, .dst = 4, .dst_column = 2},
                            {.src = 3, .dst = 4, .dst_column = 2}}));
  EXPECT_TRUE(found_only(
      bench.findings(),
      {{.rule = Rule::conflicting_copies, .block = 4, .detail = "two copies write the block"}}));
}

TEST(CopyExecutor, ConflictsOfOneLaunchAreForgottenInTheNext) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3, 4}}});
  bench.put(2, 0, 8);
  CopyExecutor executor(bench.shared().config);
  const auto copy = [&](std::int32_t src, std::int32_t dst, std::int32_t column) {
    executor.execute(bench.context(), launch_of({{.src = src, .dst = dst, .dst_column = column}}),
                     WriteKind::pre_copy);
  };
  copy(2, 3, 1);
  copy(3, 4, 2);
  copy(4, 3, 1);
  EXPECT_TRUE(nothing_found(bench.findings()));
  EXPECT_EQ(bench.state_of(3, 0), 8);
}

TEST(CopyExecutor, UnwrittenSourceIsToldAndStaysUnwritten) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}}});
  execute(bench, launch_of({{.src = 2, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(
      found_only(bench.findings(), {{.rule = Rule::read_of_unwritten_block,
                                     .request = 0,
                                     .content = ContentKind::temporal,
                                     .block = 2,
                                     .detail = "copied from a state that was never written"}}));
  EXPECT_EQ(bench.state_of(3, 0), kUnwritten);
}

TEST(CopyExecutor, SourcesBelongToTheRequest) {
  RowBench bench({}, {{.computed = 8, .query = 1, .blocks = {2, 3}},
                      {.computed = 8, .query = 1, .blocks = {4}}});
  bench.put(4, 1, 8);
  bench.put(9, 0, 8);  // no request's block
  execute(bench, launch_of({{.src = 4, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(found_only(bench.findings(), {{.rule = Rule::foreign_row_datum,
                                             .request = 0,
                                             .content = ContentKind::temporal,
                                             .block = 4}}));
  bench.findings().clear();
  execute(bench, launch_of({{.src = 9, .dst = 3, .dst_column = 1}}));
  EXPECT_TRUE(found_only(
      bench.findings(),
      {{.rule = Rule::read_of_unwritten_block, .block = 9, .detail = "read of a freed block"}}));
}

}  // namespace

}  // namespace hybridscope::test::execute_mamba_test
