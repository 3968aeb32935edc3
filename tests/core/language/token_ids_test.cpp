// Which tokens of a model stand for the engine's.
#include "core/language/token_ids.h"

#include <gtest/gtest.h>

namespace hybridscope::token_ids_test {
namespace {

constexpr TokenContent kGenerated = tagged_token(TokenKind::output, 0x1234567890ULL);

TEST(LanguageTokenIds, BytesOfATextAreTheirOwnTokens) {
  ModelTokenIds ids(256);
  EXPECT_EQ(ids.id(prompt_token(kByteText, 'k')), 'k');
  EXPECT_EQ(ids.id(prompt_token(kByteText, 0xF3)), 0xF3);
}

TEST(LanguageTokenIds, EqualContentsAreEqualTokens) {
  ModelTokenIds ids(50);
  const TokenContent content = prompt_token(7, 3);
  EXPECT_EQ(ids.id(content), ids.id(content));
  EXPECT_LT(ids.id(content), 50);
}

TEST(LanguageTokenIds, AGeneratedTokenIsWhatTheRunSampled) {
  ModelTokenIds ids(256);
  EXPECT_EQ(ids.generated(kGenerated, 65), 65);
  EXPECT_EQ(ids.id(kGenerated), 65);
}

// A prompt that continues an answer before it exists settles what it says.
TEST(LanguageTokenIds, AContentThatWasNeededBeforeItWasGeneratedKeepsItsToken) {
  ModelTokenIds ids(256);
  const std::int32_t needed = ids.id(kGenerated);
  EXPECT_EQ(ids.generated(kGenerated, (needed + 1) % 256), needed);
}

// A request that begins again after a reset may sample another token at the same place.
TEST(LanguageTokenIds, ATokenThatIsGeneratedAgainReplacesTheOldOne) {
  ModelTokenIds ids(256);
  EXPECT_EQ(ids.generated(kGenerated, 65), 65);
  EXPECT_EQ(ids.generated(kGenerated, 66), 66);
  EXPECT_EQ(ids.settled(kGenerated), std::nullopt);
}

TEST(LanguageTokenIds, ADraftThatIsRejectedIsAnotherToken) {
  const ModelTokenIds ids(5);
  for (std::uint64_t content = 0; content < 40; ++content)
    for (std::int32_t right = 0; right < 5; ++right) {
      const std::int32_t wrong = ids.wrong_draft(right, content);
      EXPECT_NE(wrong, right);
      EXPECT_GE(wrong, 0);
      EXPECT_LT(wrong, 5);
    }
}

}  // namespace
}  // namespace hybridscope::token_ids_test
