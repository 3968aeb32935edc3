#include "core/engine/prefix_fingerprints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/caching/block_hash.h"

namespace hybridscope::test::prefix_fingerprints_test {
namespace {

constexpr std::int32_t kTokens = 700;

TokenSequence sequence() {
  return TokenSequence({{.content = 7, .length = 300}}, /*seed=*/1, /*request_key=*/1);
}

// F(0) .. F(kTokens), one token at a time.
std::vector<Fingerprint> naive_fold(const TokenSequence& tokens, std::uint64_t salt) {
  std::vector<Fingerprint> result{seed_fingerprint(salt)};
  for (std::int32_t p = 0; p < kTokens; ++p)
    result.push_back(extend_fingerprint(result.back(), tokens.token(p)));
  return result;
}

TEST(PrefixFingerprints, EveryPositionEqualsTheNaiveFold) {
  const TokenSequence tokens = sequence();
  const auto expected = naive_fold(tokens, 0);
  for (const std::int32_t hash_block_size : {1, 3, 16, 512}) {
    for (const std::int32_t num_before_boundary : {0, 2, 6}) {
      PrefixFingerprints prefix(0, hash_block_size, num_before_boundary);
      prefix.extend_to(tokens, 320);
      for (std::int32_t p = 0; p <= kTokens; ++p)
        ASSERT_EQ(prefix.at(tokens, p), expected[static_cast<std::size_t>(p)])
            << hash_block_size << ' ' << num_before_boundary << ' ' << p;
    }
  }
}

TEST(PrefixFingerprints, PositionsMayBeAskedForInAnyOrder) {
  const TokenSequence tokens = sequence();
  const auto expected = naive_fold(tokens, 0);
  PrefixFingerprints prefix(0, 16, /*num_before_boundary=*/2);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    if (i % 100 == 0) prefix.extend_to(tokens, std::min(kTokens, i / 4));
    const auto p = static_cast<std::int32_t>(random() % (kTokens + 1));
    ASSERT_EQ(prefix.at(tokens, p), expected[static_cast<std::size_t>(p)]) << i << ' ' << p;
  }
}

TEST(PrefixFingerprints, BlockHashesAreThoseOfTheCache) {
  const TokenSequence tokens = sequence();
  std::vector<TokenContent> contents(50);
  tokens.copy_tokens(0, 50, contents.data());
  BlockHashChain chain = start_block_hashes(16, /*cache_salt=*/3);
  extend_block_hashes(chain, contents);
  PrefixFingerprints prefix(3, 16);
  prefix.extend_to(tokens, 20);
  EXPECT_EQ(prefix.block_hashes().size(), 1U);
  prefix.extend_to(tokens, 50);
  EXPECT_THAT(prefix.block_hashes(), testing::ElementsAreArray(chain.block_hashes));
}

TEST(PrefixFingerprints, UnequalSaltsShareNoPrefix) {
  const TokenSequence tokens = sequence();
  PrefixFingerprints a(0, 16);
  PrefixFingerprints b(7, 16);
  for (std::int32_t p = 0; p <= 100; ++p) EXPECT_NE(a.at(tokens, p), b.at(tokens, p)) << p;
}

TEST(PrefixFingerprints, ARememberedFingerprintIsNotFoldedAgain) {
  const TokenSequence tokens = sequence();
  PrefixFingerprints prefix(0, 16);
  prefix.remember(5, 1234);
  EXPECT_EQ(prefix.at(tokens, 5), 1234U);
  EXPECT_EQ(prefix.at(tokens, 6), extend_fingerprint(1234, tokens.token(5)));
  EXPECT_EQ(prefix.at(tokens, 4), naive_fold(tokens, 0)[4]);
}

TEST(PrefixFingerprints, HashBlocksHaveTokens) {
  EXPECT_THROW(PrefixFingerprints(0, 0), ContractViolation);
}

// Hash blocks of 16 and one token more: the keys of 33 tokens are those at 17 and 33.
TEST(PrefixFingerprints, CacheKeysLookAhead) {
  const TokenSequence tokens = sequence();
  const auto expected = naive_fold(tokens, 0);
  PrefixFingerprints prefix(0, 16, 0, /*num_lookahead_tokens=*/1);
  prefix.extend_to(tokens, 32);
  EXPECT_EQ(prefix.block_hashes().size(), 2u);
  EXPECT_THAT(prefix.cache_keys(), testing::ElementsAre(expected[17]));
  prefix.extend_to(tokens, 33);
  EXPECT_THAT(prefix.cache_keys(), testing::ElementsAre(expected[17], expected[33]));
}

}  // namespace
}  // namespace hybridscope::test::prefix_fingerprints_test
