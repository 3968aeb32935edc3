// Two runs side by side, as a person uses them.
#include "tests/gui/drawn_panel.h"
#include "tests/gui/driven_window.h"

namespace hybridscope::test::comparison_window_test {
namespace {

// The script accepts both tokens of step 2; the edit accepts one.
class ComparisonWindow : public DrivenWindow {
 protected:
  void SetUp() override {
    DrivenWindow::SetUp();
    if (driver_ == nullptr) return;
    open("align_boundary_by_accepted_drafts", 1);
    driver_->command("edit.accept A 1");
    driver_->command("diff.before_edit");
    driver_->command("diff.first");
  }
  bool is_seen(const std::string& mark) {
    driver_->frames(3);
    return driver_->marks().contains(mark);
  }
};

TEST_F(ComparisonWindow, CellsThatTheListNamesAreFramed) {
  ASSERT_EQ(driver_->workbench().run()->step(), 2);
  const auto cells = driver_->workbench().differences()->of("A")->cells;
  ASSERT_FALSE(cells.empty());
  driver_->command("panel.show block_tables");
  EXPECT_TRUE(is_seen("differs"));
  const auto [group, column] = *cells.begin();
  EXPECT_TRUE(is_seen("differs A " + std::to_string(group) + " " + std::to_string(column)));
  driver_->command("run.go_to 1");
  EXPECT_FALSE(is_seen("differs"));
}

TEST_F(ComparisonWindow, AClickOnTheRightSelectsOnBothSides) {
  driver_->command("panel.show block_tables");
  driver_->frames(3);
  driver_->click("cell A 1 0");  // what is drawn last is the right side
  const Selection left = driver_->workbench().selection();
  EXPECT_EQ(left.request, RequestId{0});
  EXPECT_EQ(left.group, 1);
  EXPECT_EQ(left.column, 0);
  const Workbench::SideScope right(driver_->workbench());
  EXPECT_EQ(driver_->workbench().selection().request, RequestId{0});
}

TEST_F(ComparisonWindow, ALineOfTheListSelectsItsRequest) {
  driver_->command("panel.show differences");
  driver_->frames(3);
  driver_->click("line 0");
  EXPECT_EQ(driver_->workbench().selection().request_name, "A");
}

// Of each side; strips of tokens and drawings of copies may.
TEST(ComparisonOfAFullScreen, NoTableHasColumnsBeyondItsEdge) {
  const auto driver = GuiDriver::create({1920, 1080});
  if (driver == nullptr) GTEST_SKIP() << GuiDriver::reason();
  driver->command("bug.open 44\nrun.go_to 4");
  for (const std::string panel : {"batch_rows", "requests", "speculative", "state_copies"}) {
    driver->command("panel.show " + panel);
    driver->frames(4);
    for (const std::string& window : drawn_panels().scrolled_sideways)
      for (const char* table : {"/rows_", "/Requests_", "/drafts_", "/decisions_"})
        EXPECT_EQ(window.find(table), std::string::npos) << panel << ": " << window;
  }
}

// The words about the graph would take four lines there.
TEST(ComparisonOfASmallWindow, TheRowsOfTheBatchHaveRoom) {
  const auto driver = GuiDriver::create({1280, 800});
  if (driver == nullptr) GTEST_SKIP() << GuiDriver::reason();
  driver->command("bug.open 48\npanel.show batch_rows");
  driver->frames(4);
  const float bottom = driver->marks().at("panel batch_rows").max.y;
  for (const char* row : {"row A", "row C"})
    EXPECT_LT(driver->marks().at(row).max.y, bottom) << row;
}

}  // namespace
}  // namespace hybridscope::test::comparison_window_test
