#include "gui/model/finding_log.h"

#include <gtest/gtest.h>

namespace hybridscope::finding_log_test {
namespace {

constexpr RequestId kA{0};
constexpr RequestId kB{1};

Finding wrong(std::int64_t step, RequestId request, Rule rule = Rule::running_state_wrong) {
  Finding finding;
  finding.rule = rule;
  finding.step = step;
  finding.request = request;
  return finding;
}

FindingLog log_of(const std::vector<Finding>& findings) {
  FindingLog log;
  for (const Finding& finding : findings) log.take(finding, numbered_names());
  return log;
}

TEST(FindingLog, ListsTwentyOfARuleAndCountsAllThatFollow) {
  const FindingLog log = log_of(std::vector<Finding>(82, wrong(4, kA)));
  EXPECT_EQ(log.listed().size(), 20U);
  EXPECT_EQ(log.chains()[0].num_following, 81);
  EXPECT_EQ(log.chains()[0].num_listed, 19);
  EXPECT_EQ(log.chains()[19].first, 0);
  EXPECT_EQ(log.chains()[19].first_step, 4);
}

// B's chain begins after A's 25 findings of the same rule.
TEST(FindingLog, ListsTheBeginningOfAChainBeyondTheFirstTwenty) {
  std::vector<Finding> findings(25, wrong(4, kA));
  findings.push_back(wrong(9, kB));
  const FindingLog log = log_of(findings);
  ASSERT_EQ(log.listed().size(), 21U);
  EXPECT_EQ(log.listed()[20].finding.request, kB);
  EXPECT_EQ(log.chains()[20].first, 20);
}

TEST(FindingLog, AWarningHasNoChain) {
  const FindingLog log = log_of({wrong(4, kA, Rule::drafts_cut)});
  EXPECT_EQ(log.chains()[0].first, -1);
  EXPECT_EQ(log.chains()[0].first_step, 0);
}

TEST(FindingLog, AfterGoingBackOnlyTheStepsUpToThereCount) {
  FindingLog log = log_of({wrong(4, kA), wrong(5, kA), wrong(5, kA), wrong(6, kA)});
  EXPECT_EQ(log.chains()[0].num_following, 3);
  log.forget_after(4);
  EXPECT_EQ(log.listed().size(), 1U);
  EXPECT_EQ(log.chains()[0].num_following, 0);
  log.take(wrong(5, kA), numbered_names());
  EXPECT_EQ(log.chains()[0].num_following, 1);
}

TEST(FindingLog, BeyondItsLimitItSaysAtLeast) {
  EXPECT_FALSE(log_of(std::vector<Finding>(5000, wrong(4, kA))).chains()[0].at_least);
  EXPECT_TRUE(log_of(std::vector<Finding>(5001, wrong(4, kA))).chains()[0].at_least);
}

}  // namespace
}  // namespace hybridscope::finding_log_test
