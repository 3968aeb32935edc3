// Fixtures of tests that use the real window.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/gui/gui_driver.h"

namespace hybridscope::test {

// Skips if no image can be drawn without a display.
class DrivenWindow : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create();
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
  }
  void open(const std::string& scenario, int step) {
    driver_->command("file.open " + scenario_path(scenario));
    driver_->command("run.go_to " + std::to_string(step));
  }

  std::unique_ptr<GuiDriver> driver_;
};

// With a scenario at its first step.
class OpenWindow : public DrivenWindow {
 protected:
  void SetUp() override {
    DrivenWindow::SetUp();
    if (driver_ == nullptr) return;
    open("align_boundary_by_decode", 1);
    driver_->frames();
  }
};

}  // namespace hybridscope::test
