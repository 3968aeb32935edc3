#include "sessions/explain/block_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hybridscope::block_copies_test {
namespace {

using testing::ElementsAre;

// Group 0 is attention, group 1 recurrent; blocks of 16.
KVCacheConfig two_groups() {
  KVCacheConfig config;
  config.groups.push_back({.spec = FullAttentionSpec{}, .layers = {0}});
  config.groups.push_back({.spec = MambaSpec{}, .layers = {1}});
  return config;
}

void copy_block(StepTrace& trace, std::int32_t group, std::int32_t from, std::int32_t to) {
  for (const auto& [kind, block] :
       {std::pair{CacheEventKind::copied_from, from}, std::pair{CacheEventKind::copied_to, to}})
    trace.cache_events.push_back({.kind = kind, .group = group, .request = {0}, .block = block});
}

std::vector<std::string> words_of(const StepTrace& trace) {
  std::vector<std::string> words;
  for (const ExplainedBlockCopy& copy : explained_block_copies(trace, two_groups()))
    words.push_back(block_copy_words(copy, numbered_names()));
  return words;
}

// The request runs on in block 6, so the key of 20 tokens goes to block 8.
TEST(BlockCopies, ARunningRequestLeavesTheCopyToThePrefixCache) {
  StepTrace trace;
  trace.cache_events.push_back({.kind = CacheEventKind::registered,
                                .group = 1,
                                .request = {0},
                                .block = 8,
                                .num_tokens = 20});
  copy_block(trace, 1, 6, 8);
  EXPECT_THAT(words_of(trace),
              ElementsAre("block 6 -> 8: r0 writes on in block 6, and the prefix cache keeps S(20) "
                          "in the copy"));
}

TEST(BlockCopies, AHitThatEndsInsideABlockIsCopiedForTheRequest) {
  StepTrace trace;
  trace.scheduled.push_back(
      {.request = {0}, .admission = Admission::new_request, .num_hit_tokens = 20});
  trace.cache_events.push_back(
      {.kind = CacheEventKind::column_set, .group = 0, .request = {0}, .column = 1, .block = 12});
  copy_block(trace, 0, 5, 12);
  const auto copies = explained_block_copies(trace, two_groups());
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].column, 1);
  EXPECT_EQ(copies[0].num_tokens, 20);
  EXPECT_FALSE(copies[0].is_mamba);
  EXPECT_THAT(words_of(trace), ElementsAre("block 5 -> 12: the hit of 20 tokens ends inside block "
                                           "5, so r0 writes on in a copy"));
}

TEST(BlockCopies, StandInTheOrderInWhichTheyAreMade) {
  StepTrace trace;
  copy_block(trace, 1, 9, 4);
  copy_block(trace, 0, 5, 12);
  copy_block(trace, 2, 1, 2);
  EXPECT_THAT(words_of(trace),
              ElementsAre("block 9 -> 4: r0 writes on in block 9, and the prefix cache keeps what "
                          "was registered in the copy",
                          "block 5 -> 12: r0 writes on in block 5, and the prefix cache keeps what "
                          "was registered in the copy"))
      << "there is no group 2";
}

}  // namespace
}  // namespace hybridscope::block_copies_test
