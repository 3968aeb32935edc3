#include "core/engine/releases.h"

#include <gtest/gtest.h>

#include "core/caching/block_pool_policies.h"
#include "core/caching/hybrid_coordinator_policies.h"
#include "core/engine/aligned_split_policies.h"
#include "core/engine/batch_metadata_policies.h"
#include "core/engine/scheduler_policies.h"
#include "core/engine/worker_v1_policies.h"
#include "core/metadata/gdn_builder_policies.h"

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
  const PolicySet first = release_policies(Release::v0_24_0, ModelRunner::v1);
  EXPECT_EQ(first.get<OneTokenPrompt>(), OneTokenPrompt::as_is);
  EXPECT_EQ(first.get<AlignedSplit>(), AlignedSplit::until_last_cache_position);
  EXPECT_EQ(first.get<MambaEagleLookahead>(), MambaEagleLookahead::longer_limit);
  EXPECT_EQ(first.get<HitsInsideBlocks>(), HitsInsideBlocks::never);
  const PolicySet third = release_policies(Release::v0_26_0, ModelRunner::v1);
  EXPECT_EQ(third.get<OneTokenPrompt>(), OneTokenPrompt::padded_with_placeholders);
  EXPECT_EQ(third.get<AlignedSplit>(), AlignedSplit::stops_until_last_cache_position);
  EXPECT_EQ(third.get<MambaEagleLookahead>(), MambaEagleLookahead::none);
  EXPECT_EQ(third.get<HitsInsideBlocks>(), HitsInsideBlocks::stopping_at_hash_blocks);
  EXPECT_EQ(third.get<AcceptedCountOwner>(), first.get<AcceptedCountOwner>());
  EXPECT_EQ(release_policies(Release::v0_30_0, ModelRunner::v1).get<GdnBatch>(),
            GdnBatch::padded_to_rows);
  EXPECT_EQ(release_policies(Release::v0_31_0, ModelRunner::v1).get<GdnBatch>(),
            GdnBatch::first_chunks_as_prefills);
  EXPECT_EQ(release_policies(Release::v0_33_0, ModelRunner::v1).get<GdnBatch>(),
            GdnBatch::first_chunks_as_prefills);
  const PolicySet last = release_policies(kNewestRelease, ModelRunner::v1);
  EXPECT_EQ(last.get<StaleFrame>(), StaleFrame::drained_by_scheduled_tokens);
  EXPECT_EQ(last.get<AcceptedCountOwner>(), first.get<AcceptedCountOwner>());
}

TEST(Releases, HaveChangesOfOneRunner) {
  EXPECT_EQ(release_policies(Release::v0_28_0, ModelRunner::v1).get<UniformDecodeTest>(),
            UniformDecodeTest::by_shape);
  EXPECT_EQ(release_policies(Release::v0_28_0, ModelRunner::v2).get<UniformDecodeTest>(),
            UniformDecodeTest::by_row_class);
}

// Back at the front of the free queue after one release.
TEST(Releases, TakeAChangeBack) {
  const auto uncached_free = [](Release release) {
    return release_policies(release, ModelRunner::v1).get<UncachedFree>();
  };
  EXPECT_EQ(uncached_free(Release::v0_26_0), UncachedFree::to_front);
  EXPECT_EQ(uncached_free(Release::v0_27_1), UncachedFree::to_back);
  EXPECT_EQ(uncached_free(Release::v0_28_0), UncachedFree::to_front);
}

}  // namespace
}  // namespace hybridscope::releases_test
