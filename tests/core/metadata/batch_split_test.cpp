#include "core/metadata/batch_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/metadata/common_attention_metadata.h"
#include "core/metadata/mamba_builder_config.h"
#include "tests/core/metadata/batch_support.h"

namespace hybridscope::batch_split_test {
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

}  // namespace
}  // namespace hybridscope::batch_split_test
