// Faults of the program while it draws.
#include "gui/fault_guard.h"

#include <backends/imgui_impl_opengl3.h>
#include <gtest/gtest.h>

#include "core/base/check.h"
#include "tests/gui/gui_driver.h"

namespace hybridscope::test::fault_guard_test {
namespace {

class FaultGuardTest : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({640, 400});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->command("file.open " + scenario_path("align_boundary_by_decode"));
    driver_->frames();
  }

  // A frame of its own with a window in which the guard draws, and a word behind it. ImGui's own
  // checks end the program when something was left open.
  bool frame(FaultGuard& guard, const std::function<void()>& draw) {
    ImGui_ImplOpenGL3_NewFrame();
    driver_->surface().begin_frame();
    ImGui::NewFrame();
    ImGui::Begin("window", nullptr, ImGuiWindowFlags_MenuBar);
    const bool drawn = guard.draw(driver_->workbench(), draw);
    ImGui::TextUnformatted("behind");
    ImGui::End();
    ImGui::Render();
    return drawn;
  }

  std::unique_ptr<GuiDriver> driver_;
};

void fail() { HS_EXPECT(1 + 1 == 3); }

TEST_F(FaultGuardTest, AFaultIsToldInTheBannerAndTheRunIsKept) {
  FaultGuard guard;
  EXPECT_FALSE(frame(guard, fail));
  EXPECT_NE(driver_->workbench().banner().find("1 + 1 == 3"), std::string::npos);
  EXPECT_EQ(driver_->workbench().run()->step(), 1);
  driver_->frames();
}

TEST_F(FaultGuardTest, WhatWasLeftOpenIsClosed) {
  FaultGuard in_menu;
  EXPECT_FALSE(frame(in_menu, [] {
    ImGui::BeginMenuBar();
    ImGui::BeginMenu("File");
    fail();
  }));
  FaultGuard in_table;
  EXPECT_FALSE(frame(in_table, [] {
    ImGui::BeginChild("child");
    ImGui::PushID(7);
    ImGui::PushStyleColor(ImGuiCol_Text, IM_COL32_WHITE);
    ImGui::BeginTable("table", 2);
    ImGui::TableNextColumn();
    fail();
  }));
  FaultGuard in_dialog;
  EXPECT_FALSE(frame(in_dialog, [] {
    ImGui::Begin("dialog");
    ImGui::BeginTooltip();
    fail();
  }));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(frame(in_menu = {}, [] { ImGui::TextUnformatted("x"); }));
}

TEST_F(FaultGuardTest, ItIsTriedAgainWhenAnotherStepIsShown) {
  FaultGuard guard;
  int tried = 0;
  const auto draw = [&] {
    ++tried;
    fail();
  };
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(frame(guard, draw));
  EXPECT_EQ(tried, 1) << "not in each frame";
  driver_->command("run.step");
  EXPECT_FALSE(frame(guard, draw));
  EXPECT_EQ(tried, 2);
}

}  // namespace
}  // namespace hybridscope::test::fault_guard_test
