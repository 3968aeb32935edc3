// A window that moves to a monitor of another scale, and one that is scaled by a command.

#include <GL/gl.h>
#include <backends/imgui_impl_opengl3.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "gui/grid_texture.h"
#include "gui/keyboard.h"
#include "tests/gui/gui_driver.h"

namespace hybridscope::test::scale_test {
namespace {

class Scale : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = make({2560, 1600});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
  }
  std::unique_ptr<GuiDriver> make(PixelSize size) {
    auto driver = GuiDriver::create(size, [this] { return monitor_; });
    if (driver == nullptr) return driver;
    driver->command("file.open " + scenario_path("align_boundary_by_accepted_drafts"));
    driver->command("run.go_to 2");
    driver->command("select.cell A 1 1");
    driver->frames(4);
    return driver;
  }
  // Everything that was drawn lies inside the window.
  void expect_inside(float width, float height) const {
    for (const auto& [name, box] : driver_->marks()) {
      EXPECT_GE(box.min.x, 0) << name;
      EXPECT_GE(box.min.y, 0) << name;
      EXPECT_LE(box.max.x, width) << name;
      EXPECT_LE(box.max.y, height) << name;
    }
  }

  float monitor_ = 1;
  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(Scale, FontsAndPaddingsFollowTheMonitorAndBack) {
  const float font = driver_->look().fonts.words->FontSize;
  const ImVec2 padding = ImGui::GetStyle().FramePadding;
  monitor_ = 2;
  driver_->frames();
  EXPECT_EQ(driver_->look().scale, 2);
  EXPECT_EQ(driver_->look().fonts.words->FontSize, font * 2);
  EXPECT_EQ(ImGui::GetStyle().FramePadding.x, padding.x * 2);
  EXPECT_EQ(ImGui::GetStyle().FramePadding.y, padding.y * 2);
  monitor_ = 1;
  driver_->frames();
  EXPECT_EQ(driver_->look().fonts.words->FontSize, font);
  EXPECT_EQ(ImGui::GetStyle().FramePadding.x, padding.x);
}

// Fonts that have lost their texture make everything black.
TEST_F(Scale, LettersStayWhenTheScaleChanges) {
  const auto has_bright_pixels = [this] {
    const Image image = driver_->picture();
    return std::ranges::any_of(
        image.rgba.begin(), image.rgba.end(),
        [pixel = 0](std::uint8_t byte) mutable { return ++pixel % 4 != 0 && byte > 200; });
  };
  EXPECT_TRUE(has_bright_pixels());
  for (const float scale : {2.0F, 1.0F}) {
    monitor_ = scale;
    driver_->frames(4);
    EXPECT_TRUE(has_bright_pixels()) << scale;
  }
}

TEST_F(Scale, ACommandScalesWhatIsDrawnToo) {
  const auto button = [this] { return driver_->marks().find("run.step")->second; };
  const ItemBox before = button();
  driver_->command("view.scale 150");
  driver_->frames(4);
  EXPECT_GT(button().max.x - button().min.x, before.max.x - before.min.x);
  driver_->command("view.scale 100");
  driver_->frames(4);
  EXPECT_EQ(button().min.x, before.min.x);
  EXPECT_EQ(button().max.x, before.max.x);
}

TEST_F(Scale, TabsThatScrollIntoViewAreWaitedFor) {
  driver_.reset();
  driver_ = make({1280, 800});
  driver_->command("view.scale 200");
  driver_->frames(4);
  driver_->command("panel.show next_step");
  driver_->frames(2);
  ASSERT_TRUE(driver_->session().is_settling());
  int waited = 0;
  for (; driver_->session().is_settling() && waited < 120; ++waited) driver_->frames(1);
  EXPECT_LT(waited, 120);
  const ItemBox tab = driver_->marks().at("tab next_step");
  driver_->frames(60);
  EXPECT_EQ(driver_->marks().at("tab next_step").min.x, tab.min.x);
}

// Twice the pixels at twice the scale: everything is where it was, nothing is cut off.
TEST_F(Scale, TwiceTheScaleOnTwiceThePixelsIsTheSameLayout) {
  monitor_ = 2;
  driver_->frames(4);
  expect_inside(2560, 1600);
  const ItemMarks large = driver_->marks();
  driver_.reset();
  monitor_ = 1;
  driver_ = make({1280, 800});
  ASSERT_NE(driver_, nullptr);
  expect_inside(1280, 800);
  for (const auto& [name, box] : driver_->marks()) {
    const auto found = large.find(name);
    ASSERT_NE(found, large.end()) << name;
    // Letters are hinted for their size: lines of them differ by some pixels.
    EXPECT_NEAR(found->second.min.x, box.min.x * 2, 24) << name;
    EXPECT_NEAR(found->second.min.y, box.min.y * 2, 24) << name;
  }
  EXPECT_EQ(large.size(), driver_->marks().size());
}

// Tabs dragged with the mouse, drawn without a display.

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

// Grids as textures, drawn without a display.

constexpr ImU32 kRed = IM_COL32(255, 0, 0, 255);
constexpr ImU32 kBlue = IM_COL32(0, 0, 255, 255);

Image drawn(Surface& surface, const std::function<void(ImDrawList&)>& draw) {
  ImGui_ImplOpenGL3_NewFrame();
  surface.begin_frame();
  ImGui::NewFrame();
  draw(*ImGui::GetForegroundDrawList());
  ImGui::Render();
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  return read_pixels(surface);
}

// "R" and "B" of the cells of 8 pixels, row by row.
std::string cells_of(const Image& image, int columns, int rows) {
  std::string cells;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const auto at = static_cast<std::size_t>(((row * 8 + 4) * image.size.width + column * 8 + 4));
      cells += image.rgba[at * 4] == 255 ? 'R' : image.rgba[at * 4 + 2] == 255 ? 'B' : '.';
    }
    cells += ' ';
  }
  return cells;
}

TEST(GridTexture, AGridLargerThanATextureIsSeveralBesideEachOther) {
  const auto driver = GuiDriver::create({64, 64});
  if (driver == nullptr) GTEST_SKIP() << GuiDriver::reason();
  driver->frames();
  constexpr std::array<std::uint32_t, 15> kPixels{kRed,  kBlue, kRed,  kRed, kBlue,  //
                                                  kBlue, kBlue, kRed,  kRed, kRed,   //
                                                  kRed,  kRed,  kBlue, kRed, kBlue};
  GridTexture texture;
  for (const std::int32_t max_side : {1, 2, 3, 16}) {
    texture.set({}, 0, 0);
    texture.set(kPixels, 5, 3, max_side);
    const Image image = drawn(driver->surface(), [&](ImDrawList& list) {
      texture.draw(list, ImVec2(0, 0), ImVec2(8, 8));
    });
    EXPECT_EQ(cells_of(image, 6, 4), "RBRRB. BBRRR. RRBRB. ...... ") << max_side;
  }
}

}  // namespace

}  // namespace hybridscope::test::scale_test
