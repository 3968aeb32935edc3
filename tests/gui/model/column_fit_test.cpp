#include "gui/model/column_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace hybridscope::column_fit_test {
namespace {

using testing::ElementsAre;

// A number, a name and words.
constexpr std::array<ColumnNeed, 3> kNeeds = {{{20, 20}, {60, 40}, {120, 60}}};

TEST(FitColumns, EachHasWhatItWantsWhereThereIsRoom) {
  const ColumnFit fit = fit_columns(kNeeds, 300);
  EXPECT_TRUE(fit.fits);
  EXPECT_THAT(fit.widths, ElementsAre(20, 60, 120));
}

// 40 of the 80 that can be given are missing: each gives a half of what it can.
TEST(FitColumns, WordsGiveWayAndNumbersDoNot) {
  const ColumnFit fit = fit_columns(kNeeds, 160);
  EXPECT_TRUE(fit.fits);
  EXPECT_THAT(fit.widths, ElementsAre(20, 50, 90));
}

TEST(FitColumns, WhereTheLeastDoesNotFitTheTableScrolls) {
  const ColumnFit fit = fit_columns(kNeeds, 119);
  EXPECT_FALSE(fit.fits);
  EXPECT_THAT(fit.widths, ElementsAre(20, 60, 120)) << "so no word is cut";
}

// A number, a name of 41 letters that may have 70, and a remark that may have 40.
TEST(FitColumns, NamesGiveWayBeforeOtherWords) {
  const std::array<ColumnNeed, 3> needs = {{{20, 20}, {290, 70, true}, {60, 40}}};
  EXPECT_THAT(fit_columns(needs, 200).widths, ElementsAre(20, 120, 60));
  EXPECT_THAT(fit_columns(needs, 140).widths, ElementsAre(20, 70, 50));
}

// 32, 52 and 42 with the gaps: 126.
TEST(WholeColumns, TheVisibleEdgeCutsNoColumn) {
  const std::array<float, 4> widths = {20, 40, 30, 50};
  EXPECT_EQ(whole_columns(widths, {.room = 150, .gap = 12}), 126);
  EXPECT_EQ(whole_columns(widths, {.room = 126, .gap = 12}), 126);
  EXPECT_EQ(whole_columns(widths, {.room = 125, .gap = 12}), 84);
  EXPECT_EQ(whole_columns(widths, {.room = 125, .gap = 12, .least = 3}), 125) << "else too few";
}

TEST(FitColumns, NumbersAloneAreNeverNarrower) {
  const std::array<ColumnNeed, 2> numbers = {{{20, 20}, {30, 30}}};
  EXPECT_THAT(fit_columns(numbers, 10).widths, ElementsAre(20, 30));
}

}  // namespace
}  // namespace hybridscope::column_fit_test
