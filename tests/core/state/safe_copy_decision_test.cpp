#include "core/state/copy_decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/state/all_mode.h"

namespace hybridscope::safe_copy_decision_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using enum StateCopyOutcome;

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
}  // namespace hybridscope::safe_copy_decision_test
