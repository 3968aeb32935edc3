// A window that moves to a monitor of another scale, and one that is scaled by a command.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

}  // namespace
}  // namespace hybridscope::test::scale_test
