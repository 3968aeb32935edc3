// The lone run of a request goes back, on and anew, and is always what a run from the start is.
#include "core/language/twin_sequence.h"

#include <gtest/gtest.h>

#include "tests/support/small_language_model.h"

namespace hybridscope::twin_sequence_test {
namespace {

class LanguageTwin : public testing::Test {
 protected:
  std::vector<LayerStates> from_start(std::size_t num_tokens) const {
    LoneRun run(model_);
    run.extend(std::span(tokens_).first(num_tokens));
    return run.states();
  }

  HybridModel model_ = test::small_language_model();
  std::vector<std::int32_t> tokens_{3, 14, 15, 9, 26, 5, 35, 8, 9, 7};
};

TEST_F(LanguageTwin, GoesOnFromWhereItStands) {
  TwinSequence twin(model_);
  twin.stand_behind(4, tokens_);
  twin.extend(std::span(tokens_).subspan(4, 3));
  EXPECT_EQ(*twin.states_after(4), from_start(4));
  EXPECT_EQ(*twin.states_after(7), from_start(7));
  EXPECT_EQ(twin.states_after(5), nullptr);
}

// Rejected drafts are taken back.
TEST_F(LanguageTwin, GoesBackToAStateThatItKept) {
  TwinSequence twin(model_);
  twin.stand_behind(4, tokens_);
  const std::int32_t wrong[] = {40, 41};
  twin.extend({&tokens_[4], 1});
  twin.extend({&wrong[0], 1});
  twin.extend({&wrong[1], 1});
  twin.stand_behind(6, tokens_);
  EXPECT_EQ(*twin.states_after(6), from_start(6)) << "a state with a rejected draft was kept";
}

// A request that was preempted begins again.
TEST_F(LanguageTwin, BeginsAnewWhereNothingWasKept) {
  TwinSequence twin(model_);
  twin.stand_behind(8, tokens_);
  twin.stand_behind(2, tokens_);
  EXPECT_EQ(*twin.states_after(2), from_start(2));
  EXPECT_EQ(twin.num_tokens(), 2);
}

}  // namespace
}  // namespace hybridscope::twin_sequence_test
