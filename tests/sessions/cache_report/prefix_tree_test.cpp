#include "sessions/cache_report/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <vector>

namespace hybridscope::prefix_tree_test {
namespace {

using Sequence = std::vector<PromptSegment>;

PromptSegment text(std::uint64_t content, std::int32_t first, std::int32_t length) {
  return {.content = content, .first = first, .length = length};
}

TEST(PrefixTree, NothingIsInCommonWithNobody) {
  const PrefixTree tree;
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 10)}, 10), (CommonPrefix{0, {}}));
}

TEST(PrefixTree, TheCommonPrefixEndsWhereTextsPart) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 0, 16), text(8, 16, 4)}, {0});
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 16), text(9, 16, 4)}, 20), (CommonPrefix{16, {0}}));
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 11), text(9, 11, 4)}, 15), (CommonPrefix{11, {0}}));
}

TEST(PrefixTree, PiecesMayBeCutAnywhere) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 0, 4), text(7, 4, 12)}, {0});
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 9), text(7, 9, 7)}, 16), (CommonPrefix{16, {0}}));
}

TEST(PrefixTree, ThePlaceInATextCounts) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 5, 10)}, {0});
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 10)}, 10), (CommonPrefix{0, {}}));
}

TEST(PrefixTree, OutputAndTextOfOneNameDiffer) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 0, 10)}, {0});
  const PromptSegment output{
      .source = PromptSegment::Source::output, .content = 7, .first = 0, .length = 10};
  EXPECT_EQ(tree.longest(1, Sequence{output}, 10).num_tokens, 0);
}

TEST(PrefixTree, UnequalSaltsShareNothing) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 0, 10)}, {0});
  EXPECT_EQ(tree.longest(2, Sequence{text(7, 0, 10)}, 10).num_tokens, 0);
}

// Request 1 shares 8 tokens, 2 shares 12: what counts is what each has computed of them.
TEST(PrefixTree, KnowsHowMuchOfASequenceAnyRequestHasComputed) {
  PrefixTree tree;
  const Sequence wanted{text(7, 0, 20)};
  EXPECT_EQ(tree.most_computed(1, wanted, 20), 0);
  tree.insert(1, Sequence{text(7, 0, 8), text(1, 8, 8)}, {1});
  tree.insert(1, Sequence{text(7, 0, 12), text(2, 12, 8)}, {2});
  EXPECT_EQ(tree.most_computed(1, wanted, 20), 0);
  tree.note_computed({1}, 16);
  EXPECT_EQ(tree.most_computed(1, wanted, 20), 8);
  tree.note_computed({2}, 5);
  EXPECT_EQ(tree.most_computed(1, wanted, 20), 8);
  tree.note_computed({2}, 10);
  EXPECT_EQ(tree.most_computed(1, wanted, 20), 10);
  EXPECT_EQ(tree.most_computed(1, wanted, 9), 9);
  tree.insert(1, Sequence{text(7, 0, 10)}, {3});  // ends inside a piece
  tree.note_computed({3}, 10);
  tree.note_computed({2}, 20);
  EXPECT_EQ(tree.most_computed(1, wanted, 20), 12);
  EXPECT_EQ(tree.most_computed(2, wanted, 20), 0);
}

TEST(PrefixTree, OfEquallyLongPrefixesTheFirstRequestIsNamed) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 0, 8), text(1, 0, 8)}, {0});
  tree.insert(1, Sequence{text(7, 0, 8), text(2, 0, 8)}, {1});
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 8), text(3, 0, 8)}, 16), (CommonPrefix{8, {0}}));
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 8), text(2, 0, 3)}, 11), (CommonPrefix{11, {1}}));
}

TEST(PrefixTree, NoMoreThanTheLimit) {
  PrefixTree tree;
  tree.insert(1, Sequence{text(7, 0, 16)}, {0});
  EXPECT_EQ(tree.longest(1, Sequence{text(7, 0, 16)}, 5).num_tokens, 5);
}

using Token = std::tuple<int, std::uint64_t, std::int32_t>;

// The naive model: every token written out.
std::vector<Token> tokens_of(const Sequence& sequence) {
  std::vector<Token> tokens;
  for (const PromptSegment& piece : sequence)
    for (std::int32_t i = 0; i < piece.length; ++i)
      tokens.emplace_back(static_cast<int>(piece.source), piece.content, piece.first + i);
  return tokens;
}

std::int32_t num_common(const std::vector<Token>& a, const std::vector<Token>& b) {
  std::size_t common = 0;
  while (common < std::min(a.size(), b.size()) && a[common] == b[common]) ++common;
  return static_cast<std::int32_t>(common);
}

Sequence beginning_of(const Sequence& sequence, std::int32_t num_tokens) {
  Sequence beginning;
  for (const PromptSegment& piece : sequence) {
    if (num_tokens == 0) break;
    beginning.push_back(piece);
    beginning.back().length = std::min(num_tokens, piece.length);
    num_tokens -= beginning.back().length;
  }
  return beginning;
}

TEST(PrefixTree, AgreesWithComparingTokenByToken) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto up_to = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
    PrefixTree tree;
    std::vector<Sequence> inserted;
    for (std::int32_t round = 0; round < 30; ++round) {
      Sequence sequence;
      if (!inserted.empty() && up_to(4) > 0)
        sequence = beginning_of(inserted[random() % inserted.size()], 1 + up_to(12));
      for (std::int32_t pieces = 1 + up_to(3); pieces > 0; --pieces)
        sequence.push_back(text(static_cast<std::uint64_t>(up_to(2)), up_to(2), 1 + up_to(5)));
      const std::int32_t limit = up_to(24);
      CommonPrefix naive;
      for (std::int32_t other = 0; other < round; ++other) {
        const Sequence& theirs = inserted[static_cast<std::size_t>(other)];
        const std::int32_t common =
            std::min(limit, num_common(tokens_of(sequence), tokens_of(theirs)));
        if (common > naive.num_tokens) naive = {common, {other}};
      }
      ASSERT_EQ(tree.longest(1, sequence, limit), naive) << "round " << round;
      tree.insert(1, sequence, {round});
      inserted.push_back(sequence);
    }
  }
}

}  // namespace
}  // namespace hybridscope::prefix_tree_test
