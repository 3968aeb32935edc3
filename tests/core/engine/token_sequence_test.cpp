#include "core/engine/token_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "core/base/check.h"

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

}  // namespace
}  // namespace hybridscope::test::token_sequence_test
