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
  const Policies first = release_policies(Release::v0_24_0);
  EXPECT_EQ(first.one_token_prompt, OneTokenPrompt::as_is);
  EXPECT_EQ(first.aligned_split, AlignedSplit::until_last_cache_position);
  EXPECT_EQ(first.cache.mamba_eagle_lookahead, MambaEagleLookahead::longer_limit);
  const Policies third = release_policies(Release::v0_26_0);
  EXPECT_EQ(third.one_token_prompt, OneTokenPrompt::padded_with_placeholders);
  EXPECT_EQ(third.aligned_split, AlignedSplit::stops_until_last_cache_position);
  EXPECT_EQ(third.cache.mamba_eagle_lookahead, MambaEagleLookahead::none);
  EXPECT_EQ(third.stale_frame, first.stale_frame);
  EXPECT_EQ(release_policies(Release::v0_31_0), release_policies(Release::v0_30_0));
}

}  // namespace
}  // namespace hybridscope::releases_test
