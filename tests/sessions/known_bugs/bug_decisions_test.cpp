// What each known bug's run says went wrong first: the decision behind its first finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "sessions/known_bugs/bug_run.h"

namespace hybridscope::bug_decisions_test {
namespace {

using testing::StartsWith;

// The bug's id and how the words begin.
const std::map<std::string, std::string> kDecisions = {
    {"accepted-count-cross-program-race",
     "A's pre-copy takes column 0; its state of 8 tokens is in column 1, left by step 2"},
    {"align-counts-permuted-twice",
     "D runs with the accepted count of P, 1; its own is 3, of step 3"},
    {"all-mode-conv-anchor-mismatch",
     "A runs as a decode and reads column 0; its conv window is in column 1, left by step 2"},
    {"all-mode-spec-boundary-not-stored",
     "A runs as a decode and reads column 0; its conv window is in column 1, left by step 2"},
    {"all-plus-spec-source-column-lost",
     "A runs as a decode and reads column 1; its state of 7 tokens is in column 2, left by step 2"},
    {"backward-copy-suppressed", "A's post-copy of step 2: running = c + q - d = 14 + 4 - 3 = 15"},
    {"chunk-tail-runs-as-decode",
     "A runs as a decode and reads column 0; its state of 10 tokens is in column 1, left by "
     "step 2"},
    {"full-chunk-sorted-before-decode-rows",
     "T runs as a prefill and reads column 0; its state of 6 tokens is in column 1, left by "
     "step 2"},
    {"mid-block-chunk-poisons-slot",
     "A in step 1: the chunk ends at token 3, off the block grid (last boundary: 0)"},
    {"no-draft-step-reads-column-zero",
     "A runs as a decode that is given no accepted count and reads column 0; its state of 8 tokens "
     "is in column 2, left by step 2"},
    {"one-token-first-chunk-as-decode",
     "A runs as a decode although nothing is computed of it, and reads column 0"},
    {"optimistic-length-picks-column", "A's pre-copy: column before = 2 (remembered"},
    {"padded-one-token-prompt-folds-placeholders",
     "B runs as a decode and reads column 0, with 1 token computed; step 3 ran it as a prefill up "
     "to token 3, which leaves only the state after the last"},
    {"padded-prompt-sorted-before-verify-rows",
     "A runs as a prefill and reads column 0; its state of 7 tokens is in column 1, left by "
     "step 2"},
    {"padded-prompt-tail-folds-placeholders",
     "B runs as a decode and reads column 1, with 9 tokens computed; step 4 ran it as a prefill up "
     "to token 12, which leaves only the state after the last"},
    {"padded-prompt-token-overwritten",
     "B runs as a decode and reads column 1, with 9 tokens computed; step 4 ran it as a prefill up "
     "to token 12, which leaves only the state after the last"},
    {"racy-accepted-counts-non-align", "A's accepted count became 1; its own is 3, of step 2"},
    {"reset-stale-frame-rolls-back-computed",
     "A's count of computed tokens fell from 6 to 4 after step 3"},
    {"resumed-tail-runs-as-decode",
     "A runs as a decode and reads column 1; its state of 10 tokens is in column 2, left by "
     "step 3"},
    {"same-step-prefix-hit", "B is admitted with 8 tokens cached; its pre-copy: column before"},
    {"short-tail-sorted-before-spec-decodes",
     "A runs as a prefill and reads column 0; its state of 8 tokens is in column 2, left by "
     "step 2"},
    {"skipped-step-forgets-accepted-count",
     "C's accepted count became 1 when it was skipped in step 3; its own is 2, of step 2"},
    {"stale-accepted-count-on-slot-reuse",
     "A runs with the accepted count of Z, 4; its own is 1, of step 1"},
    {"stale-mamba-state-idx-after-reset", "A's pre-copy: column before = 2 (remembered"},
};

class BugDecisions : public testing::TestWithParam<std::size_t> {};

// The findings of the others name the decision themselves: a metadata array, a block that is
// registered, a hit, a write.
TEST_P(BugDecisions, TheFirstChainBeginsWithTheDecisionBehindIt) {
  const std::string id(known_bug_table()[GetParam()].id);
  const BugSide faulty = run_bug_side(faulty_scenario(shipped_bug(id).value())).value();
  const auto expected = kDecisions.find(id);
  if (faulty.findings.roots().empty()) {
    EXPECT_EQ(id, "returning-request-verifies-placeholders");  // it has a warning only
    return;
  }
  const std::string& decision = faulty.findings.root_words()[0].decision;
  if (expected == kDecisions.end())
    EXPECT_EQ(decision, "");
  else
    EXPECT_THAT(decision, StartsWith(expected->second));
}

INSTANTIATE_TEST_SUITE_P(All, BugDecisions,
                         testing::Range<std::size_t>(0, known_bug_table().size()),
                         [](const auto& place) {
                           std::string name(known_bug_table()[place.param].id);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace hybridscope::bug_decisions_test
