#include "gui/model/difference_marks.h"

#include <gmock/gmock.h>

#include "gui/model/comparison.h"
#include "tests/gui/model/drive.h"

namespace hybridscope::difference_marks_test {
namespace {

using test::apply;
using test::settle;
using testing::ElementsAre;

DifferenceLine line(DiffList list, const std::string& request) {
  DifferenceLine made;
  made.list = list;
  made.request = request;
  return made;
}

NamedStepArrays arrays(std::vector<std::int64_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  NamedArray array{.name = "state_indices_tensor_d", .dims = {size}, .values = std::move(values)};
  return {.step = 3, .groups = {{.group = 1, .arrays = {std::move(array)}}}};
}

TEST(DifferenceMarks, AreTheCellsRowsAndCopiesThatTheListNames) {
  DifferingStep step;
  DifferenceLine cell = line(DiffList::worker_tables, "A");
  cell.group = 1;
  cell.column = 2;
  DifferenceLine copy = line(DiffList::copies, "A");
  copy.part = "post_copies";
  step.lines = {cell, copy, line(DiffList::rows, "B"), line(DiffList::step, "")};
  const DifferenceMarks marks = make_difference_marks(step, {}, {});
  ASSERT_NE(marks.of("A"), nullptr);
  EXPECT_TRUE(marks.of("A")->has_cell(1, 2));
  EXPECT_FALSE(marks.of("A")->has_cell(0, 2));
  EXPECT_TRUE(marks.of("A")->post_copy);
  EXPECT_FALSE(marks.of("A")->pre_copy);
  EXPECT_FALSE(marks.of("A")->row);
  ASSERT_NE(marks.of("B"), nullptr);
  EXPECT_TRUE(marks.of("B")->row);
  EXPECT_EQ(marks.of("C"), nullptr);
}

// The list names the first element and how many differ.
TEST(DifferenceMarks, AreAllElementsOfAnArrayThatDiffer) {
  DifferingStep step;
  DifferenceLine array = line(DiffList::arrays, "");
  array.group = 1;
  array.index = 1;
  array.part = "state_indices_tensor_d";
  step.lines = {array};
  const DifferenceMarks marks = make_difference_marks(step, arrays({7, 2, 4}), arrays({7, 3, 5}));
  ASSERT_NE(marks.of(1, "state_indices_tensor_d"), nullptr);
  EXPECT_THAT(*marks.of(1, "state_indices_tensor_d"), ElementsAre(1, 2));
  EXPECT_EQ(marks.of(0, "state_indices_tensor_d"), nullptr);
  EXPECT_TRUE(
      make_difference_marks(step, arrays({7}), arrays({7, 3})).of(1, array.part)->contains(1));
}

// Step 2 accepts one token on the left and two on the right; in step 1 both are alike.
TEST(DifferenceMarks, AreThoseOfTheShownStepOnBothSides) {
  Workbench workbench;
  apply(workbench, {"file.open", "shipped:align_boundary_by_accepted_drafts"});
  EXPECT_EQ(workbench.differences(), nullptr);
  apply(workbench, {"edit.accept", "A 1"});
  apply(workbench, {"diff.before_edit"});
  settle(workbench);
  EXPECT_EQ(workbench.differences(), nullptr);
  apply(workbench, {"diff.first"});
  ASSERT_EQ(workbench.run()->step(), 2);
  ASSERT_NE(workbench.differences(), nullptr);
  EXPECT_TRUE(workbench.differences()->of("A")->row);
  EXPECT_TRUE(workbench.differences()->of("A")->post_copy);
  const Workbench::SideScope right(workbench);
  EXPECT_TRUE(workbench.differences()->of("A")->row);
}

}  // namespace
}  // namespace hybridscope::difference_marks_test
