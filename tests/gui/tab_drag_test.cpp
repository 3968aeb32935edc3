// Tabs dragged with the mouse, drawn without a display.
#include <gtest/gtest.h>

#include "gui/keyboard.h"
#include "tests/gui/driven_window.h"

namespace hybridscope::test::tab_drag_test {
namespace {

class TabDragging : public OpenWindow {
 protected:
  const LayoutTree& layout() const { return driver_->workbench().view().layout; }
  const LayoutLeaf& leaf_of(std::string_view panel) const {
    return std::get<LayoutLeaf>(
        layout().nodes()[static_cast<std::size_t>(layout().leaf_of(panel).value())]);
  }
};

TEST_F(TabDragging, OntoAnotherLeafsTabsJoinsThemInFront) {
  driver_->drag("tab findings", driver_->place_in("tab physical_blocks", {0.2F, 0.5F}));
  EXPECT_TRUE(driver_->marks().contains("drop preview"));
  driver_->release();
  EXPECT_EQ(leaf_of("findings").panels,
            (std::vector<std::string>{"block_tables", "findings", "physical_blocks"}));
  EXPECT_TRUE(layout().is_active("findings"));
  EXPECT_FALSE(driver_->marks().contains("drop preview"));
}

TEST_F(TabDragging, OntoAnEdgeSplitsTheLeafThere) {
  const std::size_t nodes = layout().nodes().size();
  driver_->drag("tab findings", driver_->place_in("leaf of block_tables", {0.5F, 0.95F}));
  driver_->release();
  EXPECT_EQ(leaf_of("findings").panels, std::vector<std::string>{"findings"});
  EXPECT_EQ(layout().nodes().size(), nodes + 2);
  const auto below = static_cast<std::size_t>(layout().leaf_of("findings").value());
  const auto above = static_cast<std::size_t>(layout().leaf_of("block_tables").value());
  EXPECT_EQ(below, above + 1);
  EXPECT_EQ(std::get<LayoutSplit>(layout().nodes()[above - 1]).axis, SplitAxis::vertical);
}

TEST_F(TabDragging, EscapeLeavesItWhereItWasAndKeepsTheSelection) {
  driver_->command("select.block 1");
  driver_->click("tab findings");
  const LayoutTree before = layout();
  driver_->drag("tab findings", driver_->place_in("leaf of block_tables", {0.5F, 0.95F}));
  driver_->press(glfw_key(Key::escape));
  EXPECT_FALSE(driver_->marks().contains("drop preview"));
  driver_->release();
  EXPECT_EQ(layout(), before);
  EXPECT_EQ(driver_->workbench().selection().block, 1);
}

TEST_F(TabDragging, LetGoOutsideItStays) {
  driver_->click("tab findings");
  const LayoutTree before = layout();
  driver_->drag("tab findings", driver_->place_in("ruler", {0.5F, 0.5F}));
  driver_->release();
  EXPECT_EQ(layout(), before);
  EXPECT_EQ(driver_->workbench().run()->step(), 1);
}

TEST_F(TabDragging, AClickIsNoDrag) {
  driver_->click("tab findings");
  EXPECT_TRUE(layout().is_active("findings"));
  EXPECT_EQ(leaf_of("findings").panels.front(), "timeline");
}

}  // namespace
}  // namespace hybridscope::test::tab_drag_test
