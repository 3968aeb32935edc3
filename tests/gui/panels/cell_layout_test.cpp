#include "gui/cell_layout.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hybridscope::test::cell_layout_test {
namespace {

const ImVec2 kFourDigits(29, 12);  // pixels of "1234" in the font of cells

// Everything that can stand in a cell at once.
BlockCell busy_cell() {
  return {.block = 1234,
          .role = CellRole::running,
          .state = CellState::wrong,
          .changed = true,
          .use = {ForwardUse::running, true, true},
          .checkpoint = 24};
}

// What the digits cover: a sixth of the line above and below them is empty.
CellBox digits_of(const CellLayout& layout, ImVec2 text) {
  return {ImVec2(layout.text.x, layout.text.y + text.y / 6),
          ImVec2(layout.text.x + text.x, layout.text.y + text.y * 5 / 6)};
}

bool overlap(const CellBox& a, const CellBox& b) {
  return a.min.x < b.max.x && b.min.x < a.max.x && a.min.y < b.max.y && b.min.y < a.max.y;
}

CellBox around(ImVec2 centre, float radius) {
  return {ImVec2(centre.x - radius, centre.y - radius),
          ImVec2(centre.x + radius, centre.y + radius)};
}

void expect_free_digits(float width, float height) {
  SCOPED_TRACE(testing::Message() << width << " x " << height);
  const CellBox box{ImVec2(100, 50), ImVec2(100 + width, 50 + height)};
  const CellLayout layout = cell_layout(box, busy_cell(), kFourDigits, 1);
  const CellBox digits = digits_of(layout, kFourDigits);
  EXPECT_GE(digits.min.x, box.min.x);
  EXPECT_LE(digits.max.x, box.max.x);
  EXPECT_FALSE(overlap(digits, around(layout.badge, layout.radius)));
  EXPECT_FALSE(overlap(digits, layout.read));
  EXPECT_FALSE(overlap(digits, layout.written));
  EXPECT_FALSE(overlap(digits, around(layout.checkpoint, layout.radius)));
  // The corner is a triangle: at the digits' upper edge it is as wide as it is still high.
  const float side = layout.corner + layout.edge;
  EXPECT_LE(digits.max.x, box.max.x - std::max(side - (digits.min.y - box.min.y), 0.0F) + 1);
}

// 38 x 20 are the cells of "Fit" where ids have four digits, 60 x 20 have room beside the digits.
TEST(CellLayout, NoSignCoversTheDigitsOfAFourDigitId) {
  expect_free_digits(38, 20);
  expect_free_digits(60, 20);
  expect_free_digits(74, 39);
  expect_free_digits(33, 22);
}

TEST(CellLayout, WithoutSignsTheTextIsInTheMiddle) {
  const CellBox box{ImVec2(0, 0), ImVec2(39, 20)};
  const BlockCell plain{.block = 7, .role = CellRole::held, .state = CellState::written};
  const CellLayout layout = cell_layout(box, plain, ImVec2(7, 12), 1);
  EXPECT_EQ(layout.text.x, 16);
  EXPECT_EQ(layout.text.y, 4);
}

TEST(CellLayout, TextGivesWayToTheBadgeBesideIt) {
  const CellBox box{ImVec2(0, 0), ImVec2(46, 20)};
  const BlockCell verified{.block = 1234, .role = CellRole::held, .state = CellState::verified};
  const CellLayout layout = cell_layout(box, verified, kFourDigits, 1);
  EXPECT_LT(layout.text.x + kFourDigits.x, layout.badge.x - layout.radius);
  EXPECT_EQ(layout.text.y, 4);
}

TEST(CellLayout, SignsAreLargerInLargeCells) {
  const BlockCell cell = busy_cell();
  const CellLayout usual = cell_layout({ImVec2(0, 0), ImVec2(60, 21)}, cell, kFourDigits, 1);
  const CellLayout large = cell_layout({ImVec2(0, 0), ImVec2(90, 33)}, cell, kFourDigits, 1);
  EXPECT_FLOAT_EQ(usual.radius, 3.5F);
  EXPECT_FLOAT_EQ(large.radius, 5.5F);
}

}  // namespace
}  // namespace hybridscope::test::cell_layout_test
