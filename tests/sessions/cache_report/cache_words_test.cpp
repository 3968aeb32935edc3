#include "sessions/cache_report/cache_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sessions/cache_report/cache_report_run.h"

namespace hybridscope::cache_words_test {
namespace {

using test::explain_shipped;
using test::explain_text;
using test::scenario_text;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CacheWords, TheSmallestPrefixSaysWhereItComesFrom) {
  const auto plain = explain_shipped("shared_prefix_align");
  EXPECT_EQ(smallest_prefix_words(plain->cache().rules(), plain->config()),
            "smallest cacheable prefix: 8 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 8)");
  const auto drafts = explain_shipped("multi_turn_with_drafts");
  EXPECT_EQ(smallest_prefix_words(drafts->cache().rules(), drafts->config()),
            "smallest cacheable prefix: 8 tokens, of a prompt of at least 9 (hits end on multiples "
            "of 4 and the draft model has 4 tokens computed again)");
  const auto off = explain_shipped("groups_of_different_block_size");
  EXPECT_EQ(smallest_prefix_words(off->cache().rules(), off->config()),
            "smallest cacheable prefix: none, prefix caching is off: mode none keeps no states");
}

TEST(CacheWords, ALookupSaysWhatIsInCommonWithWhom) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_EQ(lookup_words(run->lookup("A"), run->names()),
            "A, admitted in step 1, has 20 tokens; no request before it begins alike, so there is "
            "nothing to hit.");
  EXPECT_EQ(lookup_words(run->lookup("B"), run->names()),
            "B, admitted in step 3, has 20 tokens, 16 of them in common with A; hit 16, 0 computed "
            "again.");
  const auto resumed = explain_shipped("preemption_and_resume");
  EXPECT_EQ(lookup_words(resumed->lookup("B"), resumed->names()),
            "B, resumed in step 14, has 13 tokens, 13 of them in common with its own earlier run; "
            "hit 0, 13 computed again.");
}

TEST(CacheWords, ReasonsAreListedFromTheOneThatLostMost) {
  EXPECT_EQ(lost_words({0, 1, 7, 0, 0, 16, 0}),
            "state missing 16, block granularity 7, last token 1");
  EXPECT_EQ(lost_words({}), "");
}

TEST(CacheWords, AMissingStateNamesTheStatesAround) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_THAT(run->sentences("B"), IsEmpty());
  EXPECT_THAT(
      run->sentences("C"),
      ElementsAre("Tokens 1..8 (state missing): attention has or had them, but no recurrent "
                  "state was kept at a multiple of 8 in there; the last one before is none, "
                  "the next one of A is after 16 tokens."));
}

TEST(CacheWords, TheGridAndTheDraftModelSayHowMuchTheyTake) {
  const auto run = explain_shipped("multi_turn_with_drafts");
  EXPECT_THAT(
      run->sentences("B"),
      ElementsAre("Tokens 13..14 (block granularity): a hit ends on a multiple of 4 tokens; "
                  "the next boundary is 16.",
                  "Tokens 9..12 (eagle drop): the draft model needs the hidden states of "
                  "the last 4 tokens that are found, so they are computed again."));
}

TEST(CacheWords, AnEvictionSaysWhenAndForWhom) {
  const auto run = explain_shipped("eviction_under_pressure");
  const LookupReport& c = run->lookup("C");
  ASSERT_EQ(run->sentences("C").size(), 2u);
  EXPECT_EQ(run->sentences("C")[0],
            "Token 9 (last token): the last known token is always computed, because its logits are "
            "needed.");
  EXPECT_THAT(run->sentences("C")[1],
              testing::StartsWith(
                  "Tokens 1..8 (evicted): the state after token 8 (group 1 (mamba2), "
                  "block " +
                  std::to_string(c.evicted_state.block) + ") was there until step " +
                  std::to_string(c.evicted_state.step) + ", when the block was given to B"));
}

TEST(CacheWords, AChangeSaysWhatTheHitBecomes) {
  const auto run = explain_shipped("shared_prefix_align");
  EXPECT_EQ(
      change_sentence({.kind = ChangeKind::more_shared_tokens, .amount = 8, .num_hit_tokens = 16},
                      run->lookup("C")),
      "With 8 more shared tokens the hit is 16 tokens instead of 0.");
}

}  // namespace
}  // namespace hybridscope::cache_words_test
