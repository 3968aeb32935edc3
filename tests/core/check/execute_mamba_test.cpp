// Which batch row a metadata row is, and which rows a forward leaves alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check/execute_forward.h"
#include "tests/core/check/expected_finding.h"
#include "tests/core/check/row_bench.h"

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

}  // namespace
}  // namespace hybridscope::test::execute_mamba_test
