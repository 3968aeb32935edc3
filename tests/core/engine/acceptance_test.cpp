#include "core/engine/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hybridscope::test::acceptance_test {
namespace {

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

}  // namespace
}  // namespace hybridscope::test::acceptance_test
