#include "sessions/cache_report/lookup_report.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <ostream>

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

}  // namespace

}  // namespace hybridscope::lookup_report_test
