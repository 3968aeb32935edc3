#include "gui/model/finding_chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gui/model/shown_scenario.h"

namespace hybridscope::finding_chains_test {
namespace {

std::vector<std::string> words_of(const ShownRun& run) {
  std::vector<std::string> words;
  const std::vector<FindingChain> chains = finding_chains(run);
  for (std::size_t i = 0; i < chains.size(); ++i) words.push_back(chain_words(run, chains[i], i));
  return words;
}

// Profile reference: step 3 reads a wrong state; the fifth finding is a warning.
TEST(FindingChains, TheFirstOfAChainSaysHowManyFollow) {
  const auto run = test::reference_at("budget_cuts_drafts_to_zero", 4);
  EXPECT_THAT(words_of(*run), testing::ElementsAre("first, 11 follow", "from 3", "from 3", "from 3",
                                                   "", "from 3", "from 3", "from 3", "from 3",
                                                   "from 3", "from 3", "from 3", "from 3"));
}

TEST(FindingChains, OneFindingFollows) {
  const auto run = test::reference_at("budget_cuts_drafts_to_zero", 4);
  EXPECT_EQ(chain_words(*run, {.first = 0, .num_following = 1}, 0), "first, 1 follows");
  EXPECT_EQ(chain_words(*run, {.first = 0}, 0), "first");
}

}  // namespace
}  // namespace hybridscope::finding_chains_test
