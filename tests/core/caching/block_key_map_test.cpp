#include "core/caching/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>

namespace hybridscope::block_key_map_test {
namespace {

TEST(BlockKeyMap, TheEarliestInsertedBlockStillThereIsFound) {
  BlockKeyMap map(8);
  const BlockKey key{.block_hash = 11, .group = 2};
  map.insert(key, 5);
  map.insert(key, 3);
  map.insert(key, 7);
  EXPECT_EQ(map.find(key), 5);
  map.erase(key, 3);
  map.erase(key, 5);
  EXPECT_EQ(map.find(key), 7);
  EXPECT_EQ(map.size(), 1);
}

TEST(BlockKeyMap, TheLastBlockTakesTheKeyWithIt) {
  BlockKeyMap map(8);
  const BlockKey key{.block_hash = 11, .group = 0};
  map.insert(key, 5);
  map.erase(key, 5);
  EXPECT_EQ(map.find(key), kNullBlock);
  EXPECT_EQ(map.size(), 0);
}

TEST(BlockKeyMap, GroupsDoNotShareKeys) {
  BlockKeyMap map(8);
  map.insert({.block_hash = 11, .group = 0}, 5);
  EXPECT_EQ(map.find({.block_hash = 11, .group = 1}), kNullBlock);
}

TEST(BlockKeyMap, RandomOperationsEqualAMapOfLists) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::int32_t num_blocks = 2 + static_cast<std::int32_t>(random() % 60);
    BlockKeyMap map(num_blocks);
    std::map<std::pair<Fingerprint, std::int32_t>, std::vector<std::int32_t>> naive;
    std::map<std::int32_t, BlockKey> key_of;
    for (int step = 0; step < 2000; ++step) {
      const auto block =
          1 + static_cast<std::int32_t>(random() % static_cast<unsigned>(num_blocks - 1));
      if (const auto held = key_of.find(block); held != key_of.end()) {
        const BlockKey key = held->second;
        map.erase(key, block);
        auto& blocks = naive[{key.block_hash, key.group}];
        blocks.erase(std::find(blocks.begin(), blocks.end(), block));
        if (blocks.empty()) naive.erase({key.block_hash, key.group});
        key_of.erase(held);
      } else {
        const BlockKey key{.block_hash = 1 + random() % 40,
                           .group = static_cast<std::int32_t>(random() % 2)};
        map.insert(key, block);
        naive[{key.block_hash, key.group}].push_back(block);
        key_of[block] = key;
      }
      ASSERT_EQ(map.size(), static_cast<std::int32_t>(naive.size()));
      for (Fingerprint hash = 1; hash <= 40; ++hash) {
        for (std::int32_t group = 0; group < 2; ++group) {
          const auto found = naive.find({hash, group});
          const std::int32_t expected = found == naive.end() ? kNullBlock : found->second.front();
          ASSERT_EQ(map.find({.block_hash = hash, .group = group}), expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace hybridscope::block_key_map_test
