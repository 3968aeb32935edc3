// Random operations on the pool against lists and maps that follow the rules word by word
// (semantics: block-pool, block-hash-map).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "core/caching/block_hash.h"
#include "core/caching/block_pool.h"
#include "core/caching/block_pool_policies.h"

namespace hybridscope::block_pool_model_test {
namespace {

using Key = std::pair<Fingerprint, std::int32_t>;

struct NaivePool {
  std::int32_t num_blocks = 0;
  bool planning = false;
  std::deque<std::int32_t> queue;
  std::map<Key, std::vector<std::int32_t>> blocks_of;
  std::map<std::int32_t, Key> key_of;
  std::map<std::int32_t, int> num_tokens_of;
  std::vector<int> ref_cnt;
  std::map<std::int32_t, std::int32_t> planned_by;

  NaivePool(std::int32_t blocks, bool plans)
      : num_blocks(blocks), planning(plans), ref_cnt(static_cast<std::size_t>(blocks)) {
    for (std::int32_t block = 1; block < blocks; ++block) queue.push_back(block);
  }
  int& refs(std::int32_t block) { return ref_cnt[static_cast<std::size_t>(block)]; }
  void drop_key(std::int32_t block) {
    planned_by.erase(block);
    const auto key = key_of.find(block);
    if (key == key_of.end()) return;
    auto& blocks = blocks_of[key->second];
    std::erase(blocks, block);
    if (blocks.empty()) blocks_of.erase(key->second);
    key_of.erase(key);
  }
  std::int32_t get_new_block() {
    const std::int32_t block = queue.front();
    queue.pop_front();
    drop_key(block);
    refs(block) = 1;
    return block;
  }
  void touch(std::int32_t block) {
    if (refs(block)++ == 0) std::erase(queue, block);
  }
  void free_blocks(const std::vector<std::int32_t>& blocks) {
    std::vector<std::int32_t> front;
    for (const std::int32_t block : blocks) {
      if (--refs(block) > 0) continue;
      if (planned_by.contains(block)) drop_key(block);
      if (key_of.contains(block))
        queue.push_back(block);
      else
        front.push_back(block);
    }
    queue.insert(queue.begin(), front.begin(), front.end());
  }
  void cache_full_block(std::int32_t block, Key key, int num_tokens, std::int32_t request) {
    if (key_of.contains(block) && key_of[block] == key) return;
    drop_key(block);
    key_of[block] = key;
    num_tokens_of[block] = num_tokens;
    blocks_of[key].push_back(block);
    if (planning) planned_by[block] = request;
  }
  void withdraw(std::int32_t request) {
    for (std::int32_t block = 1; block < num_blocks; ++block)
      if (planned_by.contains(block) && planned_by[block] == request) drop_key(block);
  }
};

class PoolModel {
 public:
  PoolModel(unsigned seed, BlockRegistration registration)
      : random_(seed),
        num_blocks_(2 + pick(30)),
        pool_({.num_blocks = num_blocks_, .policies = PolicySet{registration}}, nullptr),
        naive_(num_blocks_, registration == BlockRegistration::planned_then_published) {}

  void step() {
    switch (pick(9)) {
      case 0:
      case 1: return take();
      case 2: return touch();
      case 3: return free_some();
      case 4:
      case 5: return register_block();
      case 6: return evict();
      case 7: return pick(10) == 0 ? reset() : publish();
      default: return withdraw();
    }
  }

  void compare() {
    const std::vector<std::int32_t> queue(naive_.queue.begin(), naive_.queue.end());
    ASSERT_EQ(pool_.free_queue(), queue);
    ASSERT_EQ(pool_.num_free_blocks(), static_cast<std::int32_t>(queue.size()));
    ASSERT_EQ(pool_.num_cached_hashes(), static_cast<std::int32_t>(naive_.blocks_of.size()));
    ASSERT_EQ(pool_.num_planned_blocks(), static_cast<std::int32_t>(naive_.planned_by.size()));
    for (std::int32_t block = 1; block < num_blocks_; ++block) {
      ASSERT_EQ(pool_.ref_cnt(block), naive_.refs(block)) << "block " << block;
      const auto key = naive_.key_of.find(block);
      ASSERT_EQ(pool_.key(block), key == naive_.key_of.end()
                                      ? BlockKey{}
                                      : (BlockKey{key->second.first, key->second.second}));
      const auto planned = naive_.planned_by.find(block);
      ASSERT_EQ(pool_.planned_by(block).value,
                planned == naive_.planned_by.end() ? -1 : planned->second);
    }
    for (const auto& [key, blocks] : naive_.blocks_of)
      ASSERT_EQ(pool_.get_cached_block({key.first, key.second}), blocks.front());
  }

 private:
  std::int32_t pick(std::int32_t bound) {
    return static_cast<std::int32_t>(random_() % static_cast<unsigned>(bound));
  }
  std::int32_t any_block() { return num_blocks_ == 2 ? 1 : 1 + pick(num_blocks_ - 1); }

  void take() {
    if (naive_.queue.empty()) return;
    ASSERT_EQ(pool_.get_new_block({.request = {0}, .group = 0}), naive_.get_new_block());
  }
  void touch() {
    const std::int32_t block = any_block();
    if (naive_.refs(block) == 0 && !naive_.key_of.contains(block)) return;
    pool_.touch(block, {.request = {0}, .group = 0});
    naive_.touch(block);
  }
  void free_some() {
    std::vector<std::int32_t> blocks;
    for (std::int32_t block = 1; block < num_blocks_; ++block)
      if (naive_.refs(block) > 0 && pick(3) == 0) blocks.push_back(block);
    std::shuffle(blocks.begin(), blocks.end(), random_);
    pool_.free_blocks(blocks, {.request = {0}, .group = 0});
    naive_.free_blocks(blocks);
  }
  void register_block() {
    const std::int32_t block = any_block();
    if (naive_.refs(block) == 0) return;
    const Key key{static_cast<Fingerprint>(1 + pick(10)), pick(2)};
    const auto held = naive_.key_of.find(block);
    const int num_tokens = held == naive_.key_of.end() ? 1 : naive_.num_tokens_of[block] + 1;
    const std::int32_t request = pick(3);
    pool_.cache_full_block({.block = block,
                            .owner = {.request = {request}, .group = key.second},
                            .num_tokens = num_tokens,
                            .block_hash = key.first});
    naive_.cache_full_block(block, key, num_tokens, request);
  }
  void evict() {
    const std::vector<std::int32_t> blocks{any_block(), any_block()};
    pool_.evict_blocks(blocks);
    for (const std::int32_t block : blocks) naive_.drop_key(block);
  }
  void reset() {
    const bool all_free = static_cast<std::int32_t>(naive_.queue.size()) == num_blocks_ - 1;
    ASSERT_EQ(pool_.reset_prefix_cache(), all_free);
    if (!all_free) return;
    for (std::int32_t block = 1; block < num_blocks_; ++block) naive_.drop_key(block);
  }
  void publish() {
    pool_.publish();
    naive_.planned_by.clear();
  }
  void withdraw() {
    const std::int32_t request = pick(3);
    pool_.withdraw({request});
    naive_.withdraw(request);
  }

  std::mt19937 random_;
  std::int32_t num_blocks_;
  BlockPool pool_;
  NaivePool naive_;
};

TEST(BlockPoolModel, RandomOperationsEqualTheNaivePool) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    PoolModel model(seed, seed % 2 == 0 ? BlockRegistration::at_allocation
                                        : BlockRegistration::planned_then_published);
    for (int i = 0; i < 600; ++i) {
      model.step();
      model.compare();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(BlockHash, AHashIsTheFingerprintAtTheEndOfItsHashBlock) {
  BlockHashChain chain = start_block_hashes(2);
  extend_block_hashes(chain, std::vector<TokenContent>{7, 8, 9, 7, 8});
  const Fingerprint after_2 = extend_fingerprint(extend_fingerprint(seed_fingerprint(0), 7), 8);
  const Fingerprint after_4 = extend_fingerprint(extend_fingerprint(after_2, 9), 7);
  EXPECT_THAT(chain.block_hashes, testing::ElementsAre(after_2, after_4));
  EXPECT_EQ(chain.num_tokens, 5);
  EXPECT_EQ(chain.fingerprint, extend_fingerprint(after_4, 8));
}

TEST(BlockHash, TokensMayComeInPieces) {
  BlockHashChain whole = start_block_hashes(3);
  extend_block_hashes(whole, std::vector<TokenContent>{1, 2, 3, 4, 5, 6, 7});
  BlockHashChain pieces = start_block_hashes(3);
  extend_block_hashes(pieces, std::vector<TokenContent>{1, 2});
  extend_block_hashes(pieces, std::vector<TokenContent>{});
  extend_block_hashes(pieces, std::vector<TokenContent>{3, 4, 5, 6});
  extend_block_hashes(pieces, std::vector<TokenContent>{7});
  EXPECT_EQ(pieces, whole);
  EXPECT_EQ(pieces.block_hashes.size(), 2u);
}

TEST(BlockHash, EqualBlocksBehindDifferentPrefixesHaveDifferentHashes) {
  BlockHashChain chain = start_block_hashes(2);
  extend_block_hashes(chain, std::vector<TokenContent>{5, 6, 5, 6});
  EXPECT_NE(chain.block_hashes[0], chain.block_hashes[1]);
}

TEST(BlockHash, UnequalSaltsNeverShare) {
  BlockHashChain plain = start_block_hashes(2);
  BlockHashChain salted = start_block_hashes(2, 1);
  extend_block_hashes(plain, std::vector<TokenContent>{5, 6});
  extend_block_hashes(salted, std::vector<TokenContent>{5, 6});
  EXPECT_NE(plain.block_hashes[0], salted.block_hashes[0]);
}

// Hash blocks of 2 and one token more: known after 3 and 5 tokens.
TEST(BlockHash, LooksAhead) {
  BlockHashChain chain = start_block_hashes(2, 0, /*num_lookahead_tokens=*/1);
  extend_block_hashes(chain, std::vector<TokenContent>{7, 8});
  EXPECT_THAT(chain.block_hashes, testing::IsEmpty());
  extend_block_hashes(chain, std::vector<TokenContent>{9, 7});
  const Fingerprint after_3 =
      extend_fingerprint(extend_fingerprint(extend_fingerprint(seed_fingerprint(0), 7), 8), 9);
  EXPECT_THAT(chain.block_hashes, testing::ElementsAre(after_3));
  extend_block_hashes(chain, std::vector<TokenContent>{8});
  EXPECT_EQ(chain.block_hashes.size(), 2u);
  EXPECT_EQ(chain.block_hashes[1], extend_fingerprint(extend_fingerprint(after_3, 7), 8));
}

}  // namespace

}  // namespace hybridscope::block_pool_model_test
