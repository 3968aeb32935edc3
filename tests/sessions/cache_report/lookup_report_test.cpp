#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <random>
#include <tuple>
#include <vector>

#include "sessions/cache_report/lookup_report.h"
#include "sessions/cache_report/prefix_tree.h"
#include "tests/sessions/cache_report/cache_report_run.h"

namespace hybridscope::lookup_report_test {
namespace {

using test::explain_text;
using test::scenario_text;

TEST(LongestPossibleHit, EndsOnTheGridAndNeverServesTheLastToken) {
  const CacheRules rules{.caching = true, .grid = 8};
  EXPECT_EQ(longest_possible_hit(rules, 7, 20), 0);
  EXPECT_EQ(longest_possible_hit(rules, 8, 20), 8);
  EXPECT_EQ(longest_possible_hit(rules, 15, 20), 8);
  EXPECT_EQ(longest_possible_hit(rules, 16, 16), 8);
  EXPECT_EQ(longest_possible_hit(rules, 16, 17), 16);
  EXPECT_EQ(longest_possible_hit(rules, 0, 1), 0);
}

TEST(LongestPossibleHit, ADraftModelWantsOneAttentionBlockMore) {
  const CacheRules equal_blocks{.caching = true, .grid = 8, .eagle_block = 8};
  EXPECT_EQ(longest_possible_hit(equal_blocks, 15, 40), 0);
  EXPECT_EQ(longest_possible_hit(equal_blocks, 16, 40), 8);
  // Attention in blocks of 8, states every 16: 16 + 8 tokens have to be there.
  const CacheRules small_blocks{.caching = true, .grid = 16, .eagle_block = 8};
  EXPECT_EQ(longest_possible_hit(small_blocks, 23, 40), 0);
  EXPECT_EQ(longest_possible_hit(small_blocks, 24, 40), 16);
}

TEST(LongestPossibleHit, AStateMayLieOneBlockBehindWhatAttentionServesByPolicy) {
  const CacheRules rules{.caching = true, .grid = 8, .eagle_block = 8, .state_lookahead = 8};
  EXPECT_EQ(longest_possible_hit(rules, 8, 40), 8);
  EXPECT_EQ(longest_possible_hit(rules, 16, 40), 16);
}

// The key of a block covers the token after it: 9 tokens in common give a hit of 8, which may be
// all but the last of a prompt.
TEST(LongestPossibleHit, AKeyThatLooksAheadWantsTokensMoreInCommon) {
  const CacheRules rules{.caching = true, .grid = 8, .hash_lookahead = 1};
  EXPECT_EQ(longest_possible_hit(rules, 8, 40), 0);
  EXPECT_EQ(longest_possible_hit(rules, 9, 9), 8);
  EXPECT_EQ(longest_possible_hit(rules, 16, 40), 8);
  EXPECT_EQ(longest_possible_hit(rules, 17, 40), 16);
}

struct Config {
  const char* name;
  const char* settings;
  std::int32_t smallest;  // by hand
};

std::ostream& operator<<(std::ostream& out, const Config& config) { return out << config.name; }

class SmallestCacheablePrefix : public testing::TestWithParam<Config> {
 protected:
  // The longest hit of a second request whose first `shared` tokens are the first's, over prompts
  // of the first.
  static std::int32_t longest_hit(std::int32_t shared, std::int32_t second_prompt) {
    std::int32_t longest = 0;
    for (std::int32_t first_prompt = shared; first_prompt <= shared + 24; ++first_prompt) {
      const auto run = explain_text(scenario_text(
          GetParam().settings,
          fmt::format(R"({{"id": "A", "prompt": {{"tokens": {}, "share": "t", "share_tokens": {}}},
                           "max_tokens": 3}},
                         {{"id": "B", "prompt": {{"tokens": {}, "share": "t", "share_tokens": {}}},
                           "at_step": 30}})",
                      first_prompt, shared, second_prompt, shared)));
      longest = std::max(longest, run->lookup("B").num_hit_tokens);
    }
    return longest;
  }
};

TEST_P(SmallestCacheablePrefix, IsHitAndOneTokenLessNeverIs) {
  const auto run = explain_text(scenario_text(GetParam().settings, R"({"id": "A", "prompt": 8})"));
  const auto smallest = smallest_cacheable_prefix(run->cache().rules());
  ASSERT_EQ(smallest, GetParam().smallest);
  EXPECT_GT(longest_hit(*smallest, *smallest + 1), 0);
  EXPECT_EQ(longest_hit(*smallest, *smallest), 0);
  EXPECT_EQ(longest_hit(*smallest - 1, *smallest + 20), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Configurations, SmallestCacheablePrefix,
    testing::Values(
        // One block of 8.
        Config{"align", R"("mamba_cache_mode": "align", "block_size": 8)", 8},
        // Two blocks: the second is computed again.
        Config{"align_mtp",
               R"("mamba_cache_mode": "align", "block_size": 8,
                  "speculative_config": {"num_speculative_tokens": 1})",
               16},
        // Drafts of n-grams need no hidden states.
        Config{"align_ngram",
               R"("mamba_cache_mode": "align", "block_size": 8,
                  "speculative_config": {"method": "ngram", "num_speculative_tokens": 2})",
               8},
        // States every 16 tokens, and attention blocks of 16 to go with them.
        Config{"all", R"("mamba_cache_mode": "all", "block_size": 8, "mamba_block_size": 16)", 16},
        Config{"all_mtp",
               R"("mamba_cache_mode": "all", "block_size": 8, "mamba_block_size": 16,
                  "speculative_config": {"num_speculative_tokens": 1})",
               32},
        // The reference's state may lie one block behind what attention serves.
        Config{"align_mtp_reference",
               R"("mamba_cache_mode": "align", "block_size": 8, "engine": "reference",
                  "speculative_config": {"num_speculative_tokens": 1})",
               8}),
    [](const auto& config) { return std::string(config.param.name); });

// 0.33.0 with a draft model: nothing is dropped, but the key of the first block covers token 9.
TEST(SmallestCacheablePrefixOf, KeysThatLookAheadIsABlockAndATokenOfAPromptAsLong) {
  const auto run = explain_text(
      scenario_text(R"("mamba_cache_mode": "align", "block_size": 8, "engine": "vllm-0.33.0",
                       "speculative_config": {"num_speculative_tokens": 1})",
                    R"({"id": "A", "prompt": {"tokens": 12, "share": "t", "share_tokens": 12}},
                       {"id": "B", "at_step": 30,
                        "prompt": {"tokens": 9, "share": "t", "share_tokens": 9}},
                       {"id": "C", "at_step": 40,
                        "prompt": {"tokens": 12, "share": "t", "share_tokens": 8}})"));
  EXPECT_EQ(smallest_cacheable_prefix(run->cache().rules()), 9);
  EXPECT_EQ(smallest_cacheable_prompt(run->cache().rules()), 9);
  EXPECT_EQ(run->lookup("B").num_hit_tokens, 8);
  EXPECT_EQ(run->lookup("C").num_hit_tokens, 0);
}

// Hits end on hash blocks of 2, and a hit of 0.32.0 drops one of them for a draft model.
TEST(SmallestCacheablePrefixOf, HitsInsideBlocksAreHashBlocks) {
  const auto smallest = [](const char* more) {
    const auto run = explain_text(scenario_text(
        std::string(R"("mamba_cache_mode": "align", "block_size": 8, "prefix_match_unit": 2, )") +
            more,
        R"({"id": "A", "prompt": 8})"));
    return smallest_cacheable_prefix(run->cache().rules());
  };
  EXPECT_EQ(smallest(R"("engine": "vllm-0.33.0")"), 2);
  EXPECT_EQ(smallest(R"("engine": "vllm-0.25.1", "enable_prefix_caching": true)"), 8);
  EXPECT_EQ(smallest(R"("engine": "vllm-0.32.0",
                        "speculative_config": {"num_speculative_tokens": 1})"),
            4);
}

TEST(SmallestCacheablePrefixOf, ModeNoneIsNothing) {
  const auto run =
      explain_text(scenario_text(R"("mamba_cache_mode": "none")", R"({"id": "A", "prompt": 8})"));
  EXPECT_EQ(smallest_cacheable_prefix(run->cache().rules()), std::nullopt);
}

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

}  // namespace hybridscope::lookup_report_test
