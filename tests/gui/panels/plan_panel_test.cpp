// The Plan panel, clicked.
#include "gui/model/shown_plan.h"
#include "tests/gui/driven_window.h"
#include "tests/gui/model/made_plan.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::plan_panel_test {
namespace {

class PlanWindow : public DrivenWindow {
 protected:
  void SetUp() override {
    DrivenWindow::SetUp();
    if (driver_ == nullptr) return;
    driver_->leave_pixels_out();
    driver_->command("file.open " + make_plan_file({.folder = folder_.path()}));
    driver_->frames(4);
  }
  const ShownPlan& plan() { return *driver_->workbench().plan_results(); }
  std::string selected() { return plan().view().results[plan().selected().value()].name; }

  TemporaryFolder folder_;
};

// Without a run the plan has the whole window.
TEST_F(PlanWindow, AClickOnADotOrARowSelectsACombination) {
  driver_->click("plan dot mamba_cache_mode=align max_num_seqs=2");
  EXPECT_EQ(selected(), "mamba_cache_mode=align max_num_seqs=2");
  driver_->click("plan row mamba_cache_mode=align max_num_seqs=4");
  EXPECT_EQ(selected(), "mamba_cache_mode=align max_num_seqs=4");
}

TEST_F(PlanWindow, AGoalsButtonChangesTheFront) {
  driver_->click("plan goal concurrency");
  EXPECT_EQ(plan().goals(), "hits");
  driver_->click("plan goal steps");
  EXPECT_EQ(plan().goals(), "hits,steps");
}

TEST_F(PlanWindow, AHeadingSorts) {
  driver_->click("plan.sort steps");
  EXPECT_EQ(driver_->workbench().options().plan.sort, "steps");
}

TEST_F(PlanWindow, TheButtonOpensTheSelectedRunAtItsWorstStepWithThePlanBesideIt) {
  driver_->click("plan dot mamba_cache_mode=align max_num_seqs=4");
  driver_->click("plan open");
  for (int i = 0; i < 200 && driver_->workbench().is_busy(); ++i) driver_->frames(1);
  ASSERT_NE(driver_->workbench().run(), nullptr);
  EXPECT_EQ(driver_->workbench().run()->step(),
            plan().view().results[plan().selected().value()].figures.worst_step);
  driver_->frames(2);
  EXPECT_TRUE(driver_->marks().contains("plan scatter"));
  EXPECT_TRUE(driver_->marks().contains("leaf of block_tables"));
}

TEST_F(PlanWindow, ADoubleClickOnADotOpensItsRunToo) {
  driver_->double_click("plan dot mamba_cache_mode=align max_num_seqs=2");
  for (int i = 0; i < 200 && driver_->workbench().is_busy(); ++i) driver_->frames(1);
  ASSERT_NE(driver_->workbench().run(), nullptr);
  EXPECT_EQ(driver_->workbench().run()->config().max_num_seqs, 2);
}

TEST_F(PlanWindow, ADoubleClickOnTheBlocksOpensTheRunAtThatStep) {
  driver_->double_click("plan memory");
  for (int i = 0; i < 200 && driver_->workbench().is_busy(); ++i) driver_->frames(1);
  ASSERT_NE(driver_->workbench().run(), nullptr);
  EXPECT_GT(driver_->workbench().run()->step(), 1);
}

}  // namespace
}  // namespace hybridscope::test::plan_panel_test
