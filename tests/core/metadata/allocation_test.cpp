// The builders allocate no heap memory once they have seen the largest batch.
#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

#include "core/metadata/gdn_builder.h"
#include "core/metadata/mamba2_builder.h"
#include "core/metadata/mamba_builder.h"
#include "tests/core/metadata/batch_support.h"
#include "tests/support/allocation_counter.h"

namespace hybridscope::allocation_test {
namespace {

using test::Batch;
using Ints = std::vector<std::int32_t>;

constexpr std::int32_t kRows = 64;

MambaBuilderConfig config_of(MambaCacheMode mode) {
  return {.mamba_cache_mode = mode,
          .block_size = 16,
          .num_spec = 2,
          .num_speculative_blocks = 2,
          .max_num_seqs = kRows,
          .max_model_len = 640,
          .full_cudagraph = true,
          .chunk_size = 64};
}

// kRows rows of 3 tokens; in a mixed batch the last 16 are prefills of 100 tokens.
Batch batch_of(std::int32_t num_prefills) {
  std::vector<test::Row> rows(static_cast<std::size_t>(kRows), test::Row{50, 3});
  for (std::int32_t r = kRows - num_prefills; r < kRows; ++r)
    rows[static_cast<std::size_t>(r)] = {32, 100};
  return test::make_batch(rows, 40);
}

// Allocations of `build` after two warm-up rounds.
template <class Build>
std::int64_t allocations_of(Build build) {
  build();
  build();
  const std::int64_t before = test::num_allocations();
  build();
  build();
  return test::num_allocations() - before;
}

class NoAllocation : public ::testing::TestWithParam<MambaCacheMode> {
 protected:
  Batch decodes = batch_of(0);
  Batch mixed = batch_of(16);
  Ints accepted = Ints(static_cast<std::size_t>(kRows), 2);
  TensorView<std::int32_t> num_accepted_tokens = vector_view(accepted.data(), kRows);
  bool all_ok = true;

  // Captures, and takes over the metadata of another group where there are no drafts.
  template <class Builder>
  std::int64_t capture_and_update_allocations(std::int32_t num_spec) {
    MambaBuilderConfig config = config_of(GetParam());
    config.num_spec = config.num_speculative_blocks = num_spec;
    auto builder = Builder::create(config).value();
    const std::vector<test::Row> rows(static_cast<std::size_t>(kRows), {50, 1 + num_spec});
    const Batch batch = test::make_batch(rows, 40);
    return allocations_of([&] {
      const auto metadata = builder.build_for_cudagraph_capture(batch.view());
      all_ok = all_ok && metadata.ok();
      if constexpr (std::is_same_v<Builder, GdnMetadataBuilder>)
        all_ok = all_ok && builder.update_block_table(metadata.value(), batch.view()).ok();
      else
        all_ok = all_ok &&
                 builder.update_block_table(metadata.value(), batch.view().block_table_tensor).ok();
    });
  }

  template <class Builder>
  std::int64_t mamba_allocations(Builder& builder, std::int32_t threshold) {
    return allocations_of([&] {
      for (const Batch* batch : {&decodes, &mixed}) {
        const auto split =
            split_mamba_batch_by_shape(batch->view(), threshold, num_accepted_tokens);
        all_ok = all_ok && builder
                               .build({.common = batch->view(),
                                       .split = split.value(),
                                       .num_accepted_tokens = num_accepted_tokens})
                               .ok();
      }
    });
  }
};

TEST_P(NoAllocation, Mamba1) {
  auto builder = MambaMetadataBuilder::create(config_of(GetParam())).value();
  EXPECT_EQ(mamba_allocations(builder, 3), 0);
  EXPECT_TRUE(all_ok);
}

TEST_P(NoAllocation, Mamba2) {
  auto builder = Mamba2MetadataBuilder::create(config_of(GetParam())).value();
  EXPECT_EQ(mamba_allocations(builder, 3), 0);
  EXPECT_TRUE(all_ok);
}

TEST_P(NoAllocation, Gdn) {
  auto builder = GdnMetadataBuilder::create(config_of(GetParam())).value();
  std::vector<std::uint8_t> masks(static_cast<std::size_t>(kRows));
  Ints drafts(static_cast<std::size_t>(kRows), 2);
  Ints mixed_drafts = drafts;
  std::fill(mixed_drafts.end() - 16, mixed_drafts.end(), -1);
  const auto build_one = [&](const Batch& batch, const Ints* counts) {
    const GdnDraftCounts given{.num_spec = 2,
                               .num_decode_draft_tokens = counts == nullptr
                                                              ? TensorView<std::int32_t>{}
                                                              : vector_view(counts->data(), kRows)};
    const auto classes = classify_gdn_rows_by_drafts(batch.view(), given, masks);
    all_ok = all_ok && builder
                           .build({.common = batch.view(),
                                   .num_accepted_tokens = num_accepted_tokens,
                                   .row_classes = classes.value()})
                           .ok();
  };
  EXPECT_EQ(allocations_of([&] {
              build_one(decodes, &drafts);
              build_one(mixed, &mixed_drafts);
              build_one(mixed, nullptr);
            }),
            0);
  EXPECT_TRUE(all_ok);
}

TEST_P(NoAllocation, CaptureAndAnotherGroupsBlockTable) {
  for (const std::int32_t num_spec : {0, 2}) {
    EXPECT_EQ(capture_and_update_allocations<MambaMetadataBuilder>(num_spec), 0);
    EXPECT_EQ(capture_and_update_allocations<Mamba2MetadataBuilder>(num_spec), 0);
    EXPECT_EQ(capture_and_update_allocations<GdnMetadataBuilder>(num_spec), 0);
  }
  EXPECT_TRUE(all_ok);
}

// Rows by their classes, as the engine classes them.
TEST_P(NoAllocation, ClassingByRowClass) {
  std::vector<RowClass> classes(static_cast<std::size_t>(kRows), RowClass::verify);
  std::fill(classes.end() - 16, classes.end(), RowClass::prefill);
  std::vector<std::uint8_t> masks(static_cast<std::size_t>(kRows));
  EXPECT_EQ(allocations_of([&] {
              const CommonAttentionMetadata common = mixed.view();
              all_ok = all_ok && classify_gdn_rows_by_class(common, {2, classes}, masks).ok() &&
                       split_by_row_class({.row_classes = classes,
                                           .query_start_loc = common.query_start_loc,
                                           .num_actual_tokens = common.num_actual_tokens})
                           .ok();
            }),
            0);
  EXPECT_TRUE(all_ok);
}

INSTANTIATE_TEST_SUITE_P(Modes, NoAllocation,
                         ::testing::Values(MambaCacheMode::none, MambaCacheMode::all,
                                           MambaCacheMode::align));

TEST(NoAllocationCounter, SeesAnAllocation) {
  const std::int64_t before = test::num_allocations();
  const auto memory = std::make_unique<int>(1);
  EXPECT_EQ(test::num_allocations() - before, 1);
}

}  // namespace
}  // namespace hybridscope::allocation_test
