#include "sessions/lessons/lesson.h"

#include <gtest/gtest.h>

namespace hybridscope::lesson_test {
namespace {

const BreakField kNumber = {.name = "dst_col", .type = BreakType::number, .words = {}};
const BreakField kFlag = {.name = "copies", .type = BreakType::flag, .words = {}};
const BreakField kWord = {
    .name = "outcome", .type = BreakType::word, .words = {"copy", "within_block_shift"}};
const BreakField kRequest = {.name = "request", .type = BreakType::request, .words = {}};

TEST(LessonAnswer, NumbersAreComparedByValue) {
  EXPECT_EQ(canonical_answer(kNumber, " 07\t"), "7");
  EXPECT_EQ(canonical_answer(kNumber, "-1"), "-1");
  EXPECT_EQ(canonical_answer(kNumber, "7 tokens"), std::nullopt);
  EXPECT_EQ(canonical_answer(kNumber, "1.0"), std::nullopt);
  EXPECT_EQ(canonical_answer(kNumber, ""), std::nullopt);
  EXPECT_EQ(canonical_answer(kNumber, "99999999999999999999"), std::nullopt);
}

TEST(LessonAnswer, YesAndTrueAreOne) {
  EXPECT_EQ(canonical_answer(kFlag, "Yes"), "yes");
  EXPECT_EQ(canonical_answer(kFlag, "true"), "yes");
  EXPECT_EQ(canonical_answer(kFlag, "n"), "no");
  EXPECT_EQ(canonical_answer(kFlag, "1"), std::nullopt);
}

TEST(LessonAnswer, WordsMayHaveCapitalsHyphensAndBlanks) {
  EXPECT_EQ(canonical_answer(kWord, "Within-block shift"), "within_block_shift");
  EXPECT_EQ(canonical_answer(kWord, "shift"), std::nullopt);
}

TEST(LessonAnswer, RequestsAreCalledAsTheyAre) {
  EXPECT_EQ(canonical_answer(kRequest, " A "), "A");
  EXPECT_EQ(canonical_answer(kRequest, "a"), "a");
  EXPECT_EQ(canonical_answer(kRequest, "  "), std::nullopt);
}

TEST(LessonAnswer, SaysWhatIsExpected) {
  EXPECT_EQ(answer_kind(kNumber), "a whole number");
  EXPECT_EQ(answer_kind(kFlag), "yes or no");
  EXPECT_EQ(answer_kind(kWord), "one of copy, within_block_shift");
  EXPECT_EQ(answer_kind(kRequest), "the name of a request");
}

}  // namespace

}  // namespace hybridscope::lesson_test
