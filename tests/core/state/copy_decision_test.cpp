#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "core/state/copy_decision.h"
#include "core/state/mode_copies.h"

namespace hybridscope::copy_decision_test {

// For gtest's messages.
void PrintTo(const StateCopyOutcome& outcome, std::ostream* out) {
  static constexpr const char* kNames[] = {"copy",        "within_block_shift", "self_copy_skipped",
                                           "no_boundary", "fresh_state",        "same_column",
                                           "padded_row"};
  *out << kNames[static_cast<std::size_t>(outcome)];
}

namespace {

using enum StateCopyOutcome;

struct PostprocessCase {
  std::string name;
  PostprocessV1Terms in;
  std::int32_t running = 0;
  std::int32_t new_computed = 0;
  std::int32_t aligned = 0;
  std::int32_t bias = 0;
  std::int32_t dst_col = 0;
  StateCopyOutcome outcome = no_boundary;
  bool resets = false;
};

// num_accepted, running column, scheduled, computed, drafts, block_size.
const PostprocessCase kPostprocessCases[] = {
    {"PrefillEndsOnABoundary", {1, 1, 8, 0, 0, 4}, 8, 8, 8, 0, 1, self_copy_skipped, true},
    {"PrefillEndsInsideABlock", {1, 1, 7, 0, 0, 4}, 7, 7, 4, -3, 0, no_boundary, false},
    {"VerifyStaysInsideABlock", {2, 0, 4, 5, 3, 16}, 6, 7, 0, -6, -1, no_boundary, false},
    // B = 8, K = 1, c = 6, a = 2 (semantics: within-block-shift).
    {"AllAcceptedOntoTheBoundary", {2, 0, 2, 6, 1, 8}, 7, 8, 8, 1, 0, within_block_shift, true},
    // Known bug 3: B = 16, K = 3, prompt 12, a = 4.
    {"AllOfThreeDraftsOntoTheBoundary",
     {4, 0, 4, 12, 3, 16},
     13,
     16,
     16,
     3,
     0,
     within_block_shift,
     true},
    // Request A, B = 4, K = 2 (semantics: async-worked-example).
    {"WorkedExampleFrame2", {1, 2, 3, 7, 2, 4}, 8, 8, 8, 0, 1, copy, false},
    {"WorkedExampleFrame3", {2, 2, 3, 8, 2, 4}, 9, 10, 8, -1, 1, no_boundary, false},
    {"WorkedExampleFrame4", {3, 3, 3, 10, 2, 4}, 11, 13, 12, 1, 2, copy, false},
    {"BonusTokenAloneReachesTheBoundary", {1, 1, 2, 7, 1, 8}, 8, 8, 8, 0, 0, copy, false},
};

class PostprocessDecision : public ::testing::TestWithParam<PostprocessCase> {};

TEST_P(PostprocessDecision, V1FollowsTheTable) {
  const PostprocessCase& row = GetParam();
  const StateCopyDecision decision = decide_postprocess_v1(row.in);
  EXPECT_EQ(decision.rule, StateCopyRule::postprocess_mamba_v1);
  EXPECT_EQ(decision.num_tokens_running_state, row.running);
  EXPECT_EQ(decision.new_num_computed_tokens, row.new_computed);
  EXPECT_EQ(decision.aligned_new_computed, row.aligned);
  EXPECT_EQ(decision.accept_token_bias, row.bias);
  EXPECT_EQ(decision.src_col, row.in.mamba_state_idx);
  EXPECT_EQ(decision.dst_col, row.dst_col);
  EXPECT_EQ(decision.outcome, row.outcome);
  EXPECT_EQ(decision.resets_accepted_count, row.resets);
  EXPECT_EQ(decision.num_accepted_tokens_after(), row.resets ? 1 : row.in.num_accepted_tokens);
}

TEST_P(PostprocessDecision, V2WithTheNewCountFollowsTheSameTable) {
  const PostprocessCase& row = GetParam();
  const StateCopyDecision decision =
      decide_postprocess_v2({.num_accepted_tokens = row.in.num_accepted_tokens,
                             .state_idx = row.in.mamba_state_idx,
                             .new_num_computed_tokens = row.new_computed,
                             .block_size = row.in.block_size});
  EXPECT_EQ(decision.rule, StateCopyRule::postprocess_mamba_v2);
  EXPECT_EQ(decision.num_tokens_running_state, row.running);
  EXPECT_EQ(decision.aligned_new_computed, row.aligned);
  EXPECT_EQ(decision.accept_token_bias, row.bias);
  EXPECT_EQ(decision.dst_col, row.dst_col);
  EXPECT_EQ(decision.outcome, row.outcome);
  EXPECT_EQ(decision.resets_accepted_count, row.resets);
}

INSTANTIATE_TEST_SUITE_P(Cases, PostprocessDecision, ::testing::ValuesIn(kPostprocessCases),
                         [](const auto& row) { return row.param.name; });

struct PreprocessCase {
  std::string name;
  PreprocessV1Terms in;
  std::int32_t src_col = 0;
  std::int32_t dst_col = 0;
  std::int32_t bias = 0;
  StateCopyOutcome outcome = copy;
};

// has entry, entry, computed, scheduled, num_accepted, block_size.
const PreprocessCase kPreprocessCases[] = {
    {"FirstChunkOfANewRequest", {false, -1, 0, 7, 1, 4}, -1, 1, 0, fresh_state},
    {"NewRequestWithAPrefixHit", {false, -1, 8, 3, 1, 4}, 1, 2, 0, copy},
    {"HitAndChunkInOneColumn", {false, -1, 6, 2, 1, 8}, 0, 0, 0, same_column},
    {"StaysInItsColumn", {true, 2, 8, 3, 1, 4}, 2, 2, 0, same_column},
    {"CountIsKeptInItsColumn", {true, 2, 8, 3, 3, 4}, 2, 2, 2, same_column},
    // Frames 2 and 4 (semantics: async-worked-example).
    {"WorkedExampleFrame2", {true, 1, 7, 3, 1, 4}, 1, 2, 0, copy},
    {"WorkedExampleFrame4", {true, 2, 10, 3, 2, 4}, 2, 3, 1, copy},
    // Known bug 32: an entry that survived a reset points behind the new chunk.
    {"EntryOfAForgottenRun", {true, 3, 0, 8, 1, 4}, 3, 1, 0, copy},
    {"EntryOfAnEmptyRun", {true, -1, 0, 3, 1, 4}, -1, 0, 0, fresh_state},
};

class PreprocessDecision : public ::testing::TestWithParam<PreprocessCase> {};

TEST_P(PreprocessDecision, V1FollowsTheTable) {
  const PreprocessCase& row = GetParam();
  const StateCopyDecision decision = decide_preprocess_v1(row.in);
  EXPECT_EQ(decision.src_col, row.src_col);
  EXPECT_EQ(decision.dst_col, row.dst_col);
  EXPECT_EQ(decision.accept_token_bias, row.bias);
  EXPECT_EQ(decision.outcome, row.outcome);
  EXPECT_EQ(decision.computed_after, row.in.num_computed_tokens + row.in.num_scheduled_tokens);
  EXPECT_EQ(decision.num_accepted_tokens_after(),
            row.outcome == copy ? 1 : row.in.num_accepted_tokens);
}

TEST_P(PreprocessDecision, V2AdvanceAndPrecopyFollowTheSameTable) {
  const PreprocessCase& row = GetParam();
  const StateCopyDecision advance =
      decide_align_advance_v2({.state_idx = row.src_col,
                               .num_accepted_tokens = row.in.num_accepted_tokens,
                               .num_computed_tokens = row.in.num_computed_tokens,
                               .query_len = row.in.num_scheduled_tokens,
                               .block_size = row.in.block_size});
  EXPECT_EQ(advance.src_col, row.src_col);
  EXPECT_EQ(advance.dst_col, row.dst_col);
  EXPECT_EQ(advance.accept_token_bias, row.bias);
  EXPECT_EQ(advance.outcome, row.outcome);
  EXPECT_EQ(advance.resets_accepted_count, row.outcome == copy);
  const StateCopyDecision precopy = decide_precopy_v2({.src_col = advance.src_col,
                                                       .src_off = advance.accept_token_bias,
                                                       .state_idx = advance.dst_col});
  EXPECT_EQ(precopy.outcome, row.outcome);
  EXPECT_EQ(precopy.src_col, row.src_col);
  EXPECT_EQ(precopy.dst_col, row.dst_col);
  EXPECT_EQ(precopy.accept_token_bias, row.bias);
  EXPECT_FALSE(precopy.resets_accepted_count);
}

INSTANTIATE_TEST_SUITE_P(Cases, PreprocessDecision, ::testing::ValuesIn(kPreprocessCases),
                         [](const auto& row) { return row.param.name; });

TEST(CopyDecision, AnAcceptedCountOfZeroHasNoBiasInTheV2Advance) {
  const StateCopyDecision decision = decide_align_advance_v2({.state_idx = 0,
                                                              .num_accepted_tokens = 0,
                                                              .num_computed_tokens = 4,
                                                              .query_len = 1,
                                                              .block_size = 4});
  EXPECT_EQ(decision.accept_token_bias, 0);
  EXPECT_EQ(decision.dst_col, 1);
}

TEST(CopyDecision, APaddedRowDoesNothing) {
  const StateCopyDecision decision = decide_padded_row(StateCopyRule::postprocess_mamba_v2);
  EXPECT_EQ(decision.outcome, padded_row);
  EXPECT_FALSE(decision.copies());
  EXPECT_FALSE(decision.resets_accepted_count);
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Move {
  std::int32_t src_col = 0;
  std::int32_t dst_col = 0;
  std::int32_t bias = 0;
  StateCopyOutcome outcome = copy;
  bool resets = false;
  friend bool operator==(const Move&, const Move&) = default;
};

std::vector<Move> boundary_moves(const AllModeBoundaryTerms& terms) {
  std::vector<StateCopyDecision> decisions;
  decide_all_mode_boundary_copies(terms, decisions);
  std::vector<Move> moves;
  for (const StateCopyDecision& d : decisions)
    moves.push_back(
        {d.src_col, d.dst_col, d.accept_token_bias, d.outcome, d.resets_accepted_count});
  return moves;
}

// computed, accepted, last scheduled column, block_size.
TEST(AllModeBoundaryCopies, AStepInsideABlockHasNone) {
  EXPECT_THAT(boundary_moves({5, 2, 1, 8}), IsEmpty());
}

// B = 8, K = 3, c = 5: S(6), S(7), S(8), S(9) went to columns 1..4.
TEST(AllModeBoundaryCopies, TheBoundaryComesFromTheColumnOfItsToken) {
  EXPECT_THAT(boundary_moves({5, 3, 1, 8}), ElementsAre(Move{1, 0, 2, copy, false}));
}

TEST(AllModeBoundaryCopies, ABoundaryBeforeTheLastAcceptedTokenIsCopiedToo) {
  EXPECT_THAT(boundary_moves({5, 4, 1, 8}), ElementsAre(Move{1, 0, 2, copy, false}));
}

TEST(AllModeBoundaryCopies, AcceptingAllTokensOfAFullBlockShiftsInsideIt) {
  EXPECT_THAT(boundary_moves({4, 4, 0, 8}), ElementsAre(Move{0, 0, 3, within_block_shift, true}));
}

TEST(AllModeBoundaryCopies, ABoundaryThatIsAlreadyInItsBlockIsNotCopied) {
  EXPECT_THAT(boundary_moves({7, 1, 0, 8}), ElementsAre(Move{0, 0, 0, self_copy_skipped, true}));
}

TEST(AllModeBoundaryCopies, TwoBoundariesComeInAscendingOrder) {
  EXPECT_THAT(boundary_moves({1, 4, 2, 2}),
              ElementsAre(Move{2, 0, 0, copy, false}, Move{2, 1, 2, copy, false}));
}

TEST(AllModeBoundaryCopies, ABoundaryThatWasComputedBeforeTheStepIsNotCopiedAgain) {
  EXPECT_THAT(boundary_moves({8, 2, 1, 8}), IsEmpty());
}

// The count is 1 behind a shift within the running column, and stays behind copies to another one.
TEST(AllModeBoundaryCopies, TheCountOfTheNextStepIsOneWhereTheStateMovedInItsColumn) {
  std::vector<StateCopyDecision> decisions;
  EXPECT_EQ(decide_all_mode_boundary_copies({4, 4, 0, 8}, decisions), 1);
  EXPECT_EQ(decide_all_mode_boundary_copies({5, 3, 1, 8}, decisions), 3);
  EXPECT_EQ(decide_all_mode_boundary_copies({5, 2, 1, 8}, decisions), 2);
  EXPECT_EQ(decisions.size(), 2U);  // appended
}

}  // namespace

}  // namespace hybridscope::copy_decision_test
