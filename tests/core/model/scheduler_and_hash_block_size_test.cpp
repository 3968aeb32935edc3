#include "core/model/page_size.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace hybridscope::scheduler_and_hash_block_size_test {
namespace {

constexpr GroupType kFull = GroupType::full;
constexpr GroupType kMamba = GroupType::mamba;

SchedulerBlockSizes resolved(const BlockSizeSettings& settings) {
  const auto sizes = resolve_block_sizes(settings);
  EXPECT_TRUE(sizes.ok()) << sizes.error().message;
  return sizes.value();
}

TEST(SchedulerAndHashBlockSize, OneGroupUsesTheCacheBlockSizeTimesContextParallelism) {
  const std::vector<GroupBlockSize> groups = {{kMamba, 64}};
  EXPECT_EQ(resolved({.block_size = 16,
                      .enable_prefix_caching = true,
                      .hash_block_size = 3,
                      .decode_context_parallel_size = 2,
                      .groups = groups}),
            (SchedulerBlockSizes{32, 32}));
}

TEST(SchedulerAndHashBlockSize, SeveralGroupsShareTheLcmAndHashTheGcd) {
  const std::vector<GroupBlockSize> groups = {{kFull, 12}, {kFull, 32}, {kMamba, 16}};
  EXPECT_EQ(resolved({.block_size = 16, .enable_prefix_caching = true, .groups = groups}),
            (SchedulerBlockSizes{96, 4}));
}

TEST(SchedulerAndHashBlockSize, AMambaGroupOffTheCacheBlockSizeHashesOnTheSchedulerGrid) {
  const std::vector<GroupBlockSize> groups = {{kFull, 16}, {kMamba, 64}};
  EXPECT_EQ(resolved({.block_size = 16,
                      .enable_prefix_caching = true,
                      .hash_block_size = 7,
                      .groups = groups}),
            (SchedulerBlockSizes{64, 64}));
}

TEST(SchedulerAndHashBlockSize, NobodyHashesWithoutCachingAndConnector) {
  const std::vector<GroupBlockSize> groups = {{kFull, 16}, {kMamba, 16}};
  EXPECT_EQ(resolved({.block_size = 16, .hash_block_size = 8, .groups = groups}),
            (SchedulerBlockSizes{16, 16}));
  EXPECT_EQ(
      resolved({.block_size = 16, .hash_block_size = 8, .kv_connector = true, .groups = groups}),
      (SchedulerBlockSizes{16, 8}));
}

TEST(SchedulerAndHashBlockSize, RefusesWhatTheReferenceRefuses) {
  const std::vector<GroupBlockSize> groups = {{kFull, 16}, {kMamba, 16}};
  const BlockSizeSettings good{.block_size = 16, .enable_prefix_caching = true, .groups = groups};
  BlockSizeSettings settings = good;
  settings.hash_block_size = 3;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
  settings.hash_block_size = 0;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
  settings = good;
  settings.decode_context_parallel_size = 2;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
  settings = good;
  settings.block_size = 0;
  EXPECT_FALSE(resolve_block_sizes(settings).ok());
}

TEST(SchedulerAndHashBlockSize, AnLcmBeyond63BitsIsAnError) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  const std::vector<GroupBlockSize> groups = {{kFull, kMax}, {kFull, kMax - 1}};
  EXPECT_FALSE(resolve_block_sizes({.block_size = 16, .groups = groups}).ok());
  const std::vector<GroupBlockSize> one = {{kFull, 16}};
  EXPECT_FALSE(
      resolve_block_sizes({.block_size = kMax, .decode_context_parallel_size = 2, .groups = one})
          .ok());
}

}  // namespace
}  // namespace hybridscope::scheduler_and_hash_block_size_test
