#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "core/base/result.h"
#include "core/caching/block_hash.h"
#include "core/engine/prefix_fingerprints.h"
#include "core/engine/token_sequence.h"

namespace hybridscope::test::token_sequence_test {
namespace {

constexpr std::uint64_t kSeed = 1;
using Segments = std::vector<PromptSegment>;

std::vector<TokenContent> tokens(const TokenSequence& sequence, std::int32_t first,
                                 std::int32_t count) {
  std::vector<TokenContent> result(static_cast<std::size_t>(count));
  sequence.copy_tokens(first, count, result.data());
  return result;
}

TEST(TokenSequence, TokensAreFixedForEver) {
  const TokenSequence sequence({{.content = 100, .length = 10}}, kSeed, /*request_key=*/1);
  EXPECT_EQ(sequence.token(3), 0x3790ba605886fc11U);
  EXPECT_EQ(sequence.token(10), 0x5e484c8ec0c1aad3U);
  EXPECT_EQ(output_token(kSeed, 1, 10), 0x5e484c8ec0c1aad3U);
}

TEST(TokenSequence, RequestsThatTakeThePartOfATextShareItsTokens) {
  const TokenSequence a({{.content = 7, .first = 0, .length = 6}}, kSeed, 1);
  const TokenSequence b(
      {{.content = 8, .first = 0, .length = 2}, {.content = 7, .first = 3, .length = 3}}, kSeed, 2);
  EXPECT_EQ(b.num_prompt_tokens(), 5);
  EXPECT_EQ(tokens(b, 2, 3), tokens(a, 3, 3));
  EXPECT_NE(b.token(0), a.token(0));
}

TEST(TokenSequence, AnOutputSegmentRepeatsWhatTheOtherRequestGenerates) {
  const TokenSequence producer({{.content = 7, .length = 4}}, kSeed, /*request_key=*/1);
  const TokenSequence next(
      {{.content = 7, .length = 4},
       {.source = PromptSegment::Source::output, .content = 1, .first = 4, .length = 3},
       {.content = 9, .length = 2}},
      kSeed, /*request_key=*/2);
  EXPECT_EQ(next.num_prompt_tokens(), 9);
  EXPECT_EQ(tokens(next, 0, 7), tokens(producer, 0, 7));
  EXPECT_NE(next.token(7), producer.token(7));
}

TEST(TokenSequence, OutputDependsOnSeedAndRequest) {
  const TokenSequence a({{.content = 7, .length = 1}}, 1, 1);
  const TokenSequence other_seed({{.content = 7, .length = 1}}, 2, 1);
  const TokenSequence other_request({{.content = 7, .length = 1}}, 1, 2);
  EXPECT_EQ(a.token(0), other_seed.token(0));
  EXPECT_NE(a.token(1), other_seed.token(1));
  EXPECT_NE(a.token(1), other_request.token(1));
}

TEST(TokenSequence, KindsNeverCollide) {
  const TokenSequence sequence({{.content = 7, .length = 50}}, kSeed, 1);
  for (std::int32_t position = 0; position < 100; ++position)
    EXPECT_EQ(sequence.token(position) >> 62,
              static_cast<std::uint64_t>(position < 50 ? TokenKind::prompt : TokenKind::output));
}

TEST(TokenSequence, CopiesOfAnyRangeAgreeWithSingleTokens) {
  const TokenSequence sequence({{.content = 1, .length = 1},
                                {.content = 2, .first = 5, .length = 4},
                                {.content = 3, .length = 2}},
                               kSeed, 1);
  for (std::int32_t first = 0; first < 10; ++first)
    for (std::int32_t count = 0; count < 10; ++count) {
      const auto range = tokens(sequence, first, count);
      for (std::int32_t i = 0; i < count; ++i)
        ASSERT_EQ(range[static_cast<std::size_t>(i)], sequence.token(first + i));
    }
}

TEST(TokenSequence, ASegmentHasTokens) {
  EXPECT_THROW(TokenSequence(Segments{{.content = 1, .length = 0}}, kSeed, 1), ContractViolation);
}

using testing::ElementsAre;

constexpr std::uint64_t kKey = 1;

// Draws of seed 1, key 1, at positions 10..19: 0.51 0.20 0.20 0.73 0.54 0.95 0.56 0.26 0.25 0.06.
TEST(Acceptance, DrawsAreFixedForEver) {
  std::vector<bool> half, most;
  for (int position = 10; position < 20; ++position) {
    half.push_back(draft_is_accepted({.seed = 1, .rate = 0.5}, kKey, position));
    most.push_back(draft_is_accepted({.seed = 1, .rate = 0.7}, kKey, position));
  }
  EXPECT_THAT(half, ElementsAre(false, true, true, false, false, false, false, true, true, true));
  EXPECT_THAT(most, ElementsAre(true, true, true, false, true, false, true, true, true, true));
}

TEST(Acceptance, CountsTheRunOfAcceptedDraftsAndTheBonusToken) {
  const AcceptanceConfig config{.seed = 1, .rate = 0.7};
  EXPECT_EQ(keyed_num_accepted_tokens(config, kKey, 10, 3), 4);
  EXPECT_EQ(keyed_num_accepted_tokens(config, kKey, 11, 3), 3);
  EXPECT_EQ(keyed_num_accepted_tokens(config, kKey, 13, 3), 1);
  EXPECT_EQ(keyed_num_accepted_tokens(config, kKey, 14, 3), 2);
  EXPECT_EQ(keyed_num_accepted_tokens(config, kKey, 10, 1), 2);
  EXPECT_EQ(keyed_num_accepted_tokens(config, kKey, 10, 0), 1);
}

TEST(Acceptance, RateZeroAcceptsNothingAndRateOneEverything) {
  for (int position = 0; position < 200; ++position) {
    EXPECT_EQ(keyed_num_accepted_tokens({.seed = 9, .rate = 0.0}, kKey, position, 3), 1);
    EXPECT_EQ(keyed_num_accepted_tokens({.seed = 9, .rate = 1.0}, kKey, position, 3), 4);
  }
}

TEST(Acceptance, AHigherRateAcceptsWhatALowerOneDoes) {
  for (int position = 0; position < 500; ++position) {
    std::int32_t previous = 1;
    for (const double rate : {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}) {
      const auto count = keyed_num_accepted_tokens({.seed = 3, .rate = rate}, kKey, position, 3);
      EXPECT_GE(count, previous) << position;
      EXPECT_LE(count, 4);
      previous = count;
    }
  }
}

TEST(Acceptance, TheRateIsTheShareOfAcceptedDrafts) {
  int accepted = 0;
  for (std::uint64_t key = 0; key < 100; ++key)
    for (int position = 0; position < 100; ++position)
      accepted += draft_is_accepted({.seed = 5, .rate = 0.7}, key, position) ? 1 : 0;
  EXPECT_NEAR(accepted, 7000, 150);
}

TEST(Acceptance, NgramListsHaveFixedLengthsFromNothingToK) {
  const AcceptanceConfig config{.seed = 1, .rate = 0.7};
  std::vector<std::int32_t> key_1, key_2;
  for (int position = 10; position < 20; ++position) {
    key_1.push_back(ngram_num_draft_tokens(config, 1, position, 3));
    key_2.push_back(ngram_num_draft_tokens(config, 2, position, 3));
    EXPECT_EQ(ngram_num_draft_tokens(config, 1, position, 0), 0);
  }
  EXPECT_THAT(key_1, ElementsAre(2, 2, 1, 3, 1, 2, 2, 1, 2, 1));
  EXPECT_THAT(key_2, ElementsAre(0, 1, 0, 0, 3, 2, 1, 3, 1, 1));
}

TEST(Acceptance, ARejectedDraftIsNeitherAPromptNorAnOutputToken) {
  const TokenContent draft = rejected_draft_token({.seed = 1, .rate = 0.7}, 1, 10);
  EXPECT_EQ(draft, 0xb00c4b22d11b8f46U);
  EXPECT_EQ(draft >> 62, static_cast<std::uint64_t>(TokenKind::rejected_draft));
  EXPECT_NE(draft, rejected_draft_token({.seed = 1, .rate = 0.7}, 1, 11));
  EXPECT_NE(draft, rejected_draft_token({.seed = 1, .rate = 0.7}, 2, 10));
}

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

}  // namespace hybridscope::test::token_sequence_test
