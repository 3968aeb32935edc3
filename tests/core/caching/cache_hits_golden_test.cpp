// golden/cache_hits.jsonl: the coordinator's search on hand-made cache contents.
#include <gtest/gtest.h>

#include <numeric>

#include "core/caching/block_hash.h"
#include "core/caching/hybrid_coordinator.h"
#include "tests/core/caching/golden_config.h"
#include "tests/support/golden.h"

namespace hybridscope::test {
namespace {

std::vector<BlockHash> hashes_of_counting_tokens(int num_tokens, std::int32_t hash_block_size) {
  std::vector<TokenContent> tokens(static_cast<std::size_t>(num_tokens));
  std::iota(tokens.begin(), tokens.end(), TokenContent{0});
  BlockHashChain chain = start_block_hashes(hash_block_size);
  extend_block_hashes(chain, tokens);
  return chain.block_hashes;
}

Json output_of(const Json& test_case) {
  const KVCacheManagerConfig config = config_from_golden(test_case.at("config"));
  const Result<HybridCoordinator> coordinator =
      HybridCoordinator::create({.groups = config.kv_cache_config.groups,
                                 .enable_caching = true,
                                 .use_eagle = config.use_eagle,
                                 .scheduler_block_size = config.scheduler_block_size,
                                 .hash_block_size = config.hash_block_size,
                                 .policies = config.policies});
  if (!coordinator) return {{"error", coordinator.error().message}};
  const Json& input = test_case.at("input");
  if (input.empty()) return {{"error", nullptr}};

  const auto hashes = hashes_of_counting_tokens(input.at("num_tokens"), config.hash_block_size);
  BlockPool pool({.num_blocks = config.kv_cache_config.num_blocks,
                  .block_registration = BlockRegistration::at_allocation},
                 nullptr);
  for (const Json& entry : input.at("cached")) {
    const std::int32_t group = entry.at(0);
    const std::int32_t column = entry.at(1);
    const GroupParameters parameters{
        .group = group,
        .block_size = config.kv_cache_config.groups[static_cast<std::size_t>(group)].block_size(),
        .hash_block_size = config.hash_block_size};
    pool.cache_full_block({.block = entry.at(2),
                           .owner = {.request = {}, .group = group},
                           .column = column,
                           .num_tokens = (column + 1) * parameters.block_size,
                           .block_hash = parameters.block_hash(hashes, column)});
  }
  const CacheHit hit =
      coordinator.value().find_longest_cache_hit(pool, hashes, input.at("max_cache_hit_length"));
  Json block_ids = Json::array();
  for (std::size_t group = 0; group < config.kv_cache_config.groups.size(); ++group) {
    const auto blocks = hit.blocks(group);
    block_ids.push_back(std::vector<std::int32_t>(blocks.begin(), blocks.end()));
  }
  Json output = {{"hit_length", hit.num_hit_tokens},
                 {"block_ids", block_ids},
                 {"num_uncached_common_prefix_tokens", nullptr}};
  if (hit.num_uncached_common_prefix_tokens)
    output["num_uncached_common_prefix_tokens"] = *hit.num_uncached_common_prefix_tokens;
  return output;
}

TEST(CacheHitsGolden, EveryCaseEqualsTheReference) {
  HS_NEED_GOLDEN();
  int failures = 0;
  int passed = 0;
  const int cases = for_each_case("cache_hits.jsonl", [&](const Json& test_case) {
    if (failures >= 5) return;
    const Json output = output_of(test_case);
    const Json& expected = test_case.at("output");
    const bool equal = expected.contains("error") ? output.contains("error")
                                                  : first_difference(expected, output).empty();
    passed += equal ? 1 : 0;
    failures += equal ? 0 : 1;
    EXPECT_TRUE(equal) << test_case.at("id") << ": " << first_difference(expected, output);
  });
  EXPECT_GT(cases, 0);
  EXPECT_EQ(passed, cases);
}

}  // namespace
}  // namespace hybridscope::test
