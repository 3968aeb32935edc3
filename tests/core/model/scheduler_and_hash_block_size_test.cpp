#include "core/model/scheduler_and_hash_block_size.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/golden.h"

namespace hybridscope {
namespace {

using test::Json;

constexpr GroupType kFull = GroupType::full;
constexpr GroupType kMamba = GroupType::mamba;

Json block_sizes_output(const Json& test_case) {
  const Json& config = test_case.at("config");
  std::vector<GroupBlockSize> groups;
  for (const Json& group : test_case.at("input").at("groups"))
    groups.push_back({group.at("type") == "full" ? kFull : kMamba, group.at("block_size")});
  BlockSizeSettings settings{
      .block_size = config.at("block_size"),
      .enable_prefix_caching = config.at("enable_prefix_caching"),
      .decode_context_parallel_size = config.at("decode_context_parallel_size"),
      .kv_connector = config.at("kv_connector"),
      .groups = groups};
  if (!config.at("hash_block_size").is_null())
    settings.hash_block_size = config.at("hash_block_size").get<std::int64_t>();
  const auto sizes = resolve_block_sizes(settings);
  if (!sizes) return {{"error", sizes.error().message}};
  return {{"scheduler_block_size", sizes.value().scheduler_block_size},
          {"hash_block_size", sizes.value().hash_block_size}};
}

TEST(SchedulerAndHashBlockSize, AgreesWithEveryGoldenCase) {
  HS_NEED_GOLDEN();
  int failures = 0;
  const int cases = test::for_each_case("block_sizes.jsonl", [&](const Json& test_case) {
    const Json got = block_sizes_output(test_case);
    const Json& expected = test_case.at("output");
    if (expected.contains("error") && got.contains("error")) return;
    const std::string difference = test::first_difference(expected, got);
    if (!difference.empty() && ++failures <= 5)
      ADD_FAILURE() << test_case.at("id") << " " << difference << "\n" << test_case.dump();
  });
  EXPECT_GT(cases, 0);
}

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
}  // namespace hybridscope
