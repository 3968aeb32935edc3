// Text and State differences in the window, by clicks.
#include <gtest/gtest.h>

#include "tests/gui/gui_driver.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::test::language_panels_test {
namespace {

class LanguagePanels : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({740, 760});
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->command("file.open " HYBRIDSCOPE_SOURCE_DIR "/tests/gui/data/speaking.json");
    driver_->command("run.weights " HYBRIDSCOPE_SOURCE_DIR
                     "/tests/golden/numeric/model_qwen3_5_text");
    driver_->command("run.go_to 4");
  }
  Workbench& workbench() { return driver_->workbench(); }
  void show(const std::string& panel) {
    workbench().view().layout = LayoutTree::leaf({panel});
    driver_->frames(3);
  }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_F(LanguagePanels, AClickOnATokenSelectsItAndItsRequest) {
  show("text");
  driver_->click("token 2 of B");
  EXPECT_EQ(workbench().selection().request_name, "B");
  EXPECT_EQ(workbench().options().text.token, 2);
  driver_->click("text of A");
  EXPECT_EQ(workbench().selection().request_name, "A");
}

TEST_F(LanguagePanels, AClickOnACellSelectsTheBlock) {
  show("heat_map");
  driver_->click("heat 3 4");
  EXPECT_EQ(workbench().selection().block, 4);
}

// A step without drafts reads the state after the first token of step 2 (known bug 7).
TEST_F(LanguagePanels, TheFirstWrongStateIsGoneToByAClick) {
  show("heat_map");
  driver_->click("first wrong state");
  EXPECT_EQ(workbench().run()->step(), 3);
  EXPECT_EQ(workbench().selection().block, 4);
}

}  // namespace
}  // namespace hybridscope::test::language_panels_test
