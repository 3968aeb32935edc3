#include "gui/model/state_copies_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace hybridscope::conv_copy_model_test {
namespace {

// "4 5 +8 x9 .": tokens, an accepted draft, a rejected one, something left over; "-": before
// token 1; "!" behind what is not copied.
std::string words_of(const std::vector<ConvPosition>& positions) {
  std::string text;
  for (const ConvPosition& position : positions) {
    if (!text.empty()) text += ' ';
    if (position.holds == ConvHolds::before_first) text += '-';
    if (position.holds == ConvHolds::left_over) text += '.';
    if (position.holds == ConvHolds::accepted) text += '+';
    if (position.holds == ConvHolds::rejected) text += 'x';
    if (position.token > 0) text += std::to_string(position.token);
    if (!position.copied) text += '!';
  }
  return text;
}

std::size_t window_length(const std::vector<ConvPosition>& positions) {
  return static_cast<std::size_t>(std::ranges::count(positions, true, &ConvPosition::in_window));
}

// align_boundary_by_accepted_drafts, step 2: c = 6, q = 2, its draft is accepted.
TEST(ConvCopyModel, AWithinBlockShiftMovesTheWindowByTheBias) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 1,
                                        .accept_token_bias = 1,
                                        .num_tokens = 8,
                                        .num_real_tokens = 7,
                                        .num_accepted_up_to = 8,
                                        .last_written = 8,
                                        .same_block = true});
  EXPECT_EQ(words_of(copy.source), "5! 6 7 +8");
  EXPECT_EQ(words_of(copy.destination), "6 7 +8 +8!");
  EXPECT_EQ(window_length(copy.source), 3u);
}

TEST(ConvCopyModel, WhatIsNotCopiedIsNotKnownInAnotherBlock) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 1,
                                        .accept_token_bias = 1,
                                        .num_tokens = 8,
                                        .num_real_tokens = 7,
                                        .num_accepted_up_to = 8,
                                        .last_written = 8});
  EXPECT_EQ(words_of(copy.destination), "6 7 +8 .!");
}

// c = 7, q = 4, one draft accepted, boundary 8: nothing shifts, drafts travel along.
TEST(ConvCopyModel, RejectedDraftsTravelBehindTheWindow) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 3,
                                        .accept_token_bias = 0,
                                        .num_tokens = 8,
                                        .num_real_tokens = 8,
                                        .num_accepted_up_to = 9,
                                        .last_written = 11});
  EXPECT_EQ(words_of(copy.source), "6 7 8 +9 x10 x11");
  EXPECT_EQ(words_of(copy.destination), "6 7 8 +9 x10 x11");
}

TEST(ConvCopyModel, ZerosStandBeforeTheFirstToken) {
  const ConvCopy copy = make_conv_copy({.conv_kernel = 4,
                                        .num_speculative_tokens = 2,
                                        .accept_token_bias = 0,
                                        .num_tokens = 1,
                                        .num_real_tokens = 1,
                                        .num_accepted_up_to = 1,
                                        .last_written = 1});
  EXPECT_EQ(words_of(copy.source), "- - 1 . .");
}

}  // namespace
}  // namespace hybridscope::conv_copy_model_test
