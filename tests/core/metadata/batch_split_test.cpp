#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "core/metadata/batch_split.h"
#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "sessions/conformance/vector_states.h"
#include "tests/core/metadata/batch_support.h"
#include "tests/support/property.h"

namespace hybridscope::test::batch_split_test {
namespace {

using test::Batch;
using test::make_batch;
using ::testing::ElementsAre;

TEST(BatchSplit, RowsAboveTheThresholdArePrefills) {
  const Batch batch = make_batch({{9, 1}, {9, 1}, {0, 5}, {0, 3}}, 4);
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), {}).value(), (BatchSplit{2, 2, 2, 8}));
}

TEST(BatchSplit, PaddingRowsAndPaddedTokensOfADecodeBatchAreDecodes) {
  Batch batch = make_batch({{9, 1}, {9, 1}, {0, 0}, {0, 0}}, 4);
  batch.num_actual_tokens = 4;
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), {}).value(), (BatchSplit{4, 0, 4, 0}));
}

TEST(BatchSplit, UniformBatchEndsAtTheFirstOtherLength) {
  Batch batch = make_batch({{9, 2}, {9, 2}, {9, 1}}, 4);
  batch.num_actual_tokens = 5;
  const SplitOptions options{.decode_threshold = 2, .require_uniform = true};
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), options).value(), (BatchSplit{2, 1, 4, 1}));
}

TEST(BatchSplit, UniformBatchWithPaddingMustFillItsRows) {
  Batch batch = make_batch({{9, 2}, {9, 2}, {0, 0}}, 4);
  const SplitOptions options{.decode_threshold = 2, .require_uniform = true};
  EXPECT_FALSE(split_decodes_and_prefills(batch.view(), options).ok());
  batch.num_actual_tokens = 6;
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), options).value(), (BatchSplit{3, 0, 6, 0}));
  batch.num_actual_tokens = 4;
  EXPECT_EQ(
      split_decodes_and_prefills_v2(batch.view(), {.decode_threshold = 2, .require_uniform = true})
          .value(),
      (BatchSplit{3, 0, 4, 0}));
}

TEST(BatchSplit, ShortRowsBehindAPrefillArePrefills) {
  const Batch batch = make_batch({{9, 1}, {0, 5}, {9, 1}, {0, 0}}, 4);
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), {}).value(), (BatchSplit{1, 3, 1, 6}));
}

TEST(BatchSplit, FirstRowAboveTheThresholdMakesAllPrefills) {
  const Batch batch = make_batch({{0, 5}, {9, 1}}, 4);
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), {}).value(), (BatchSplit{0, 2, 0, 6}));
}

TEST(BatchSplit, UpperBoundOfTheQueryLengthStillGivesAllDecodes) {
  Batch batch = make_batch({{9, 1}, {9, 1}}, 4);
  batch.max_query_len = 8;
  EXPECT_EQ(split_decodes_and_prefills(batch.view(), {}).value(), (BatchSplit{2, 0, 2, 0}));
}

TEST(BatchSplit, ShortExtendsArePrefillsWhenTheFlagIsOff) {
  Batch batch = make_batch({{9, 2}, {4, 2}, {9, 1}}, 4);
  const SplitOptionsV2 options{.decode_threshold = 2, .treat_short_extends_as_decodes = false};
  EXPECT_FALSE(split_decodes_and_prefills_v2(batch.view(), options).ok());
  batch.is_prefilling = {0, 1, 0};
  EXPECT_EQ(split_decodes_and_prefills_v2(batch.view(), options).value(), (BatchSplit{1, 2, 2, 3}));
  EXPECT_EQ(split_decodes_and_prefills_v2(batch.view(), {.decode_threshold = 2}).value(),
            (BatchSplit{3, 0, 5, 0}));
}

TEST(BatchSplit, ArraysMustFitTheRows) {
  const Batch batch = make_batch({{9, 1}, {9, 1}}, 4);
  CommonAttentionMetadata common = batch.view();
  common.num_reqs = 3;
  EXPECT_FALSE(split_decodes_and_prefills(common, {}).ok());
  EXPECT_FALSE(split_decodes_and_prefills_v2(common, {}).ok());
}

TEST(BatchSplit, RowClassDecidesWhateverTheLength) {
  const RowClass rows[] = {RowClass::verify, RowClass::verify, RowClass::prefill};
  const std::int32_t query_start_loc[] = {0, 3, 4, 5};
  EXPECT_EQ(split_by_row_class({rows, query_start_loc, 5}).value(), (BatchSplit{2, 1, 4, 1}));
}

TEST(BatchSplit, PaddingRowsFollowTheRowsBeforeThem) {
  const RowClass decodes[] = {RowClass::decode, RowClass::decode, RowClass::padding};
  const std::int32_t one_each[] = {0, 1, 2, 2};
  EXPECT_EQ(split_by_row_class({decodes, one_each, 4}).value(), (BatchSplit{3, 0, 4, 0}));
  const RowClass mixed[] = {RowClass::decode, RowClass::prefill, RowClass::padding};
  const std::int32_t with_prefill[] = {0, 1, 6, 6};
  EXPECT_EQ(split_by_row_class({mixed, with_prefill, 6}).value(), (BatchSplit{1, 2, 1, 5}));
}

TEST(BatchSplit, RowClassesOutOfOrderAreAnError) {
  const std::int32_t query_start_loc[] = {0, 5, 6};
  const RowClass decode_last[] = {RowClass::prefill, RowClass::decode};
  EXPECT_FALSE(split_by_row_class({decode_last, query_start_loc, 6}).ok());
  const RowClass padding_first[] = {RowClass::padding, RowClass::decode};
  EXPECT_FALSE(split_by_row_class({padding_first, query_start_loc, 6}).ok());
  const RowClass one_row[] = {RowClass::decode};
  EXPECT_FALSE(split_by_row_class({one_row, query_start_loc, 6}).ok());
}

TEST(NumComputedTokens, IsSeqLenMinusQueryLenAndZeroForPadding) {
  const Batch batch = make_batch({{7, 3}, {0, 5}, {0, 0}}, 4);
  EXPECT_EQ(num_computed_tokens(batch.view(), 0), 7);
  EXPECT_EQ(num_computed_tokens(batch.view(), 1), 0);
  EXPECT_EQ(num_computed_tokens(batch.view(), 2), 0);
}

TEST(ReorderBatchThreshold, CountsDraftsOnceOrTwiceAndNotUnderContextParallelism) {
  EXPECT_EQ(reorder_batch_threshold({}), 1);
  EXPECT_EQ(reorder_batch_threshold({.num_spec = 2}), 3);
  EXPECT_EQ(reorder_batch_threshold({.num_spec = 2, .parallel_drafting = true}), 5);
  EXPECT_EQ(reorder_batch_threshold({.num_spec = 2, .decode_context_parallel_size = 2}), 1);
}

// The splits of a batch into decodes and prefills against counting row by row
// (semantics: split-decodes-and-prefills), and the modes in which the block table is not gathered
// (semantics: mamba-get-block-table-tensor).

// Short rows mostly, some without a token.
Batch draw_batch(std::int32_t longest_short_row) {
  std::vector<Row> rows(static_cast<std::size_t>(draw(1, 8)));
  for (Row& row : rows) row = {draw(0, 9), one_in(3) ? draw(0, 12) : draw(0, longest_short_row)};
  Batch batch = make_batch(rows, 1);
  batch.num_actual_tokens += one_in(3) ? draw(1, 4) : 0;
  batch.max_query_len += one_in(3) ? draw(1, 4) : 0;  // an upper bound
  for (std::size_t i = 0; i < rows.size(); ++i) batch.is_prefilling.push_back(one_in(3) ? 1 : 0);
  return batch;
}

std::int32_t length_of(const Batch& batch, std::int32_t row) {
  const auto r = static_cast<std::size_t>(row);
  return batch.query_start_loc[r + 1] - batch.query_start_loc[r];
}

// Decodes are the rows before the first prefill, and all padded tokens are the last kind's.
template <class IsPrefill>
BatchSplit count_rows(const Batch& batch, IsPrefill is_prefill) {
  BatchSplit split;
  for (std::int32_t row = 0; row < batch.num_reqs(); ++row) {
    if (split.num_prefills > 0 || is_prefill(row)) {
      ++split.num_prefills;
    } else {
      ++split.num_decodes;
      split.num_decode_tokens += length_of(batch, row);
    }
  }
  if (split.num_prefills == 0) split.num_decode_tokens = batch.num_actual_tokens;
  split.num_prefill_tokens = batch.num_actual_tokens - split.num_decode_tokens;
  return split;
}

bool one_length_or_none(const Batch& batch) {
  for (std::int32_t row = 0; row < batch.num_reqs(); ++row)
    if (length_of(batch, row) != length_of(batch, 0) && length_of(batch, row) != 0) return false;
  return true;
}

TEST(SplitProperty, UniformDecodesAreTheRowsAsLongAsTheFirst) {
  check_property(2000, [] {
    const std::int32_t threshold = draw(2, 4);  // at 1 every short batch is uniform
    const Batch batch = draw_batch(threshold);
    RC_PRE(length_of(batch, 0) <= threshold);
    const auto as_long_as_the_first = count_rows(
        batch, [&](std::int32_t row) { return length_of(batch, row) != length_of(batch, 0); });
    const BatchSplit expected = one_length_or_none(batch)
                                    ? BatchSplit{batch.num_reqs(), 0, batch.num_actual_tokens, 0}
                                    : as_long_as_the_first;
    const auto v2 = split_decodes_and_prefills_v2(
        batch.view(), {.decode_threshold = threshold, .require_uniform = true});
    RC_ASSERT(v2.value() == expected);
    const auto v1 = split_decodes_and_prefills(
        batch.view(), {.decode_threshold = threshold, .require_uniform = true});
    const bool padded = one_length_or_none(batch) &&
                        batch.num_reqs() * length_of(batch, 0) != batch.num_actual_tokens;
    RC_ASSERT(v1.ok() == !padded);
    if (v1.ok()) RC_ASSERT(v1.value() == expected);
  });
}

TEST(SplitProperty, RowsThatArePrefillingAreNoShortExtends) {
  check_property(2000, [] {
    const std::int32_t threshold = draw(1, 4);
    const Batch batch = draw_batch(threshold);
    const bool starts_long = length_of(batch, 0) > threshold;
    const auto expected = count_rows(batch, [&](std::int32_t row) {
      return starts_long || length_of(batch, row) > threshold ||
             batch.is_prefilling[static_cast<std::size_t>(row)] != 0;
    });
    RC_ASSERT(split_decodes_and_prefills_v2(batch.view(), {.decode_threshold = threshold,
                                                           .treat_short_extends_as_decodes = false})
                  .value() == expected);
  });
}

TEST(SplitProperty, RowClassesAloneDecideWhereDecodesEnd) {
  check_property(2000, [] {
    const std::int32_t decodes = draw(0, 4);
    const std::int32_t prefills = draw(0, 4);
    const std::int32_t padding = draw(0, 3);
    std::vector<RowClass> classes;
    std::vector<Row> rows;
    const auto add = [&](std::int32_t count, auto row_class, std::int32_t most_tokens) {
      for (std::int32_t i = 0; i < count; ++i) {
        classes.push_back(row_class());
        rows.push_back({0, most_tokens == 0 ? 0 : draw(1, most_tokens)});
      }
    };
    add(
        decodes, [] { return one_in(2) ? RowClass::verify : RowClass::decode; }, 5);
    add(
        prefills, [] { return RowClass::prefill; }, 5);
    add(
        padding, [] { return RowClass::padding; }, 0);
    const Batch batch = make_batch(rows, 1);
    const auto split = split_by_row_class({.row_classes = classes,
                                           .query_start_loc = batch.query_start_loc,
                                           .num_actual_tokens = batch.num_actual_tokens})
                           .value();
    RC_ASSERT(split.num_decodes == decodes + (prefills == 0 ? padding : 0));
    RC_ASSERT(split.num_prefills == (prefills == 0 ? 0 : prefills + padding));
    RC_ASSERT(split.num_decode_tokens == batch.query_start_loc[static_cast<std::size_t>(decodes)]);
    RC_ASSERT(split.num_decode_tokens + split.num_prefill_tokens == batch.num_actual_tokens);
  });
}

TEST(GatherProperty, ModesNoneAndAllTakeTheTableItself) {
  check_property(2000, [] {
    const std::int32_t rows = draw(0, 6);
    const std::int32_t columns = draw(1, 6);
    const std::vector<std::int32_t> table(static_cast<std::size_t>(rows * columns), 7);
    std::vector<std::int32_t> seq_lens;
    for (std::int32_t row = 0; row < rows; ++row) seq_lens.push_back(draw(0, 100));
    const auto mode = one_in(2) ? MambaCacheMode::none : MambaCacheMode::all;
    const auto gathered =
        mamba_get_block_table_tensor({.config = {.mamba_cache_mode = mode,
                                                 .block_size = ReciprocalDivider(draw(1, 8)),
                                                 .num_speculative_blocks = draw(0, 3)},
                                      .block_table = matrix_view(table.data(), rows, columns),
                                      .seq_lens = seq_lens},
                                     {})
            .value();
    RC_ASSERT(gathered.data == table.data());
    RC_ASSERT(gathered.rows == rows);
    RC_ASSERT(gathered.cols == columns);
  });
}

}  // namespace

}  // namespace hybridscope::test::batch_split_test
