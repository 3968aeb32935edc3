#include "core/engine/releases.h"

#include <gtest/gtest.h>

namespace hybridscope::releases_test {
namespace {

TEST(Releases, HaveTheNamesOfThePackages) {
  EXPECT_EQ(release_names().front(), "0.24.0");
  EXPECT_EQ(release_name(kNewestRelease), "0.33.0");
  for (const std::string_view name : release_names())
    EXPECT_EQ(release_name(*parse_release(name)), name);
  EXPECT_EQ(parse_release("0.25.0"), Release::v0_25_1);  // the same engine
  EXPECT_EQ(parse_release("0.34.0"), std::nullopt);
  EXPECT_EQ(parse_release(""), std::nullopt);
}

TEST(Releases, AreChangesFromOneToTheNext) {
  const Policies first = release_policies(Release::v0_24_0, ModelRunner::v1);
  EXPECT_EQ(first.one_token_prompt, OneTokenPrompt::as_is);
  EXPECT_EQ(first.aligned_split, AlignedSplit::until_last_cache_position);
  EXPECT_EQ(first.cache.mamba_eagle_lookahead, MambaEagleLookahead::longer_limit);
  EXPECT_EQ(first.cache.hits_inside_blocks, HitsInsideBlocks::never);
  const Policies third = release_policies(Release::v0_26_0, ModelRunner::v1);
  EXPECT_EQ(third.one_token_prompt, OneTokenPrompt::padded_with_placeholders);
  EXPECT_EQ(third.aligned_split, AlignedSplit::stops_until_last_cache_position);
  EXPECT_EQ(third.cache.mamba_eagle_lookahead, MambaEagleLookahead::none);
  EXPECT_EQ(third.cache.hits_inside_blocks, HitsInsideBlocks::stopping_at_hash_blocks);
  EXPECT_EQ(third.accepted_count_owner, first.accepted_count_owner);
  EXPECT_EQ(release_policies(Release::v0_30_0, ModelRunner::v1).gdn_batch,
            GdnBatch::padded_to_rows);
  EXPECT_EQ(release_policies(Release::v0_31_0, ModelRunner::v1).gdn_batch,
            GdnBatch::first_chunks_as_prefills);
  EXPECT_EQ(release_policies(Release::v0_33_0, ModelRunner::v1).gdn_batch,
            GdnBatch::first_chunks_as_prefills);
  const Policies last = release_policies(kNewestRelease, ModelRunner::v1);
  EXPECT_EQ(last.stale_frame, StaleFrame::drained_by_scheduled_tokens);
  EXPECT_EQ(last.accepted_count_owner, first.accepted_count_owner);
}

TEST(Releases, HaveChangesOfOneRunner) {
  EXPECT_EQ(release_policies(Release::v0_28_0, ModelRunner::v1).uniform_decode_test,
            UniformDecodeTest::by_shape);
  EXPECT_EQ(release_policies(Release::v0_28_0, ModelRunner::v2).uniform_decode_test,
            UniformDecodeTest::by_row_class);
}

// Back at the front of the free queue after one release.
TEST(Releases, TakeAChangeBack) {
  const auto uncached_free = [](Release release) {
    return release_policies(release, ModelRunner::v1).cache.uncached_free;
  };
  EXPECT_EQ(uncached_free(Release::v0_26_0), UncachedFree::to_front);
  EXPECT_EQ(uncached_free(Release::v0_27_1), UncachedFree::to_back);
  EXPECT_EQ(uncached_free(Release::v0_28_0), UncachedFree::to_front);
}

}  // namespace
}  // namespace hybridscope::releases_test
