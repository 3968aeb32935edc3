#include "core/caching/block_hash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::block_hash_test {
namespace {

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
}  // namespace hybridscope::block_hash_test
