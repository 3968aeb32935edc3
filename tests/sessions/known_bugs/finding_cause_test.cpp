// Bugs that one policy brings back are told apart by what the finding, its request and the engine's
// release show.
#include "sessions/known_bugs/finding_cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hybridscope::finding_cause_test {
namespace {

using testing::ElementsAre;

std::vector<const KnownBug*> bugs(const std::vector<std::string>& names) {
  std::vector<const KnownBug*> found;
  for (const std::string& name : names) found.push_back(find_known_bug(name).value());
  return found;
}

std::vector<std::string> likely(const std::vector<std::string>& names,
                                const BugEvidence& evidence) {
  std::vector<std::string> numbers;
  for (const KnownBug* bug : likely_bugs(bugs(names), evidence))
    numbers.push_back(bug_number(*bug));
  return numbers;
}

Finding finding_of(Rule rule, ContentKind content, std::string_view detail = "") {
  Finding finding;
  finding.rule = rule;
  finding.content = content;
  finding.detail = detail;
  return finding;
}

TEST(LikelyBugs, APaddedPromptOfOneTokenIs8bAndALongerOne8) {
  const Finding wrong = finding_of(Rule::running_state_wrong, ContentKind::temporal);
  EXPECT_THAT(likely({"8", "8b"}, {.finding = wrong, .num_prompt_tokens = 1}), ElementsAre("8b"));
  EXPECT_THAT(likely({"8", "8b"}, {.finding = wrong, .num_prompt_tokens = 9}), ElementsAre("8"));
  EXPECT_THAT(likely({"8", "8b"}, {.finding = wrong}), ElementsAre("8", "8b"));
}

TEST(LikelyBugs, TheReleaseDecidesWhereOnlyOneIsInIt) {
  const Finding wrong = finding_of(Rule::running_state_wrong, ContentKind::temporal);
  EXPECT_THAT(likely({"8", "8b"},
                     {.finding = wrong, .profile = parse_engine_profile("vllm-0.33.0").value()}),
              ElementsAre("8b"));
}

TEST(LikelyBugs, ARowWithoutComputedTokensIs6AndAResumedOne50) {
  Finding wrong = finding_of(Rule::read_of_unwritten_block, ContentKind::temporal);
  wrong.expected = 0;
  EXPECT_THAT(likely({"6", "50"}, {.finding = wrong}), ElementsAre("6"));
  wrong.expected = 5;
  EXPECT_THAT(likely({"6", "50"}, {.finding = wrong}), ElementsAre("50"));
}

TEST(LikelyBugs, InModeAllAWrongConvReadIs19AndTheRest18) {
  const Finding conv = finding_of(Rule::read_of_unwritten_block, ContentKind::conv);
  EXPECT_THAT(likely({"18", "19"}, {.finding = conv}), ElementsAre("19"));
  const Finding label = finding_of(Rule::label_mismatch, ContentKind::conv);
  EXPECT_THAT(likely({"18", "19"}, {.finding = label}), ElementsAre("18"));
}

TEST(LikelyBugs, ALostValidFrameIs51AndAWrongCount17) {
  const Finding lost = finding_of(Rule::rejected_draft_counted, ContentKind::none,
                                  "appended tokens of a valid frame");
  EXPECT_THAT(likely({"17", "51"}, {.finding = lost}), ElementsAre("51"));
  const Finding count =
      finding_of(Rule::rejected_draft_counted, ContentKind::none, "computed tokens after the step");
  EXPECT_THAT(likely({"17", "51"}, {.finding = count}), ElementsAre("17"));
}

TEST(BugCauseWords, SayThatTheFindingFitsEachWhereNothingDecides) {
  EXPECT_EQ(bug_cause_words(bugs({"48"})), "known bug 48, skipped-step-forgets-accepted-count");
  EXPECT_EQ(bug_cause_words(bugs({"8", "8b"})),
            "known bug 8, padded-prompt-tail-folds-placeholders, or known bug 8b, "
            "padded-one-token-prompt-folds-placeholders: the same policy brings each of them back, "
            "and the finding fits each");
}

}  // namespace
}  // namespace hybridscope::finding_cause_test
