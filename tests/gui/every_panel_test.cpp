// Every panel, alone in the window, on everything that is shipped.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "gui/model/panel_infos.h"
#include "sessions/lessons/lesson_reader.h"
#include "tests/gui/drawn_panel.h"
#include "tests/gui/gui_driver.h"
#include "tests/sessions/record/plan_run.h"

namespace hybridscope::test::every_panel_test {
namespace {

// Ten letters.
constexpr int kFewestVertices = 40;

// Of everything, in percent.
class EveryPanel : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    driver_ = GuiDriver::create({740, 560});  // what a panel has of a window of 1280x800
    if (driver_ == nullptr) GTEST_SKIP() << GuiDriver::reason();
    driver_->leave_pixels_out();
    driver_->command(fmt::format("view.scale {}", GetParam()));
  }
  Workbench& workbench() { return driver_->workbench(); }

  void draw_each_panel() {
    const bool before_the_first_step = !workbench().has_step();
    ASSERT_TRUE(!before_the_first_step || workbench().lesson() != nullptr);
    for (const PanelInfo& panel : panel_infos()) {
      SCOPED_TRACE(fmt::format("panel {}, step {}", panel.id, workbench().run()->step()));
      workbench().view().layout = LayoutTree::leaf({std::string(panel.id)});
      // Scrollbars that come in one frame change widths in the next.
      for (int i = 0; i < 8 && (i < 2 || !drawn_panels().clipped.empty()); ++i) driver_->frames(1);
      expect_drawn(panel);
    }
  }

  void expect_drawn(const PanelInfo& panel) {
    EXPECT_EQ(workbench().banner(), "");
    EXPECT_NE(workbench().notice().kind, NoticeKind::error) << workbench().notice().text;
    EXPECT_TRUE(driver_->marks().contains(fmt::format("panel {}", panel.id)));
    const DrawnPanel drawn = drawn_panels();
    EXPECT_GE(drawn.vertices, kFewestVertices);
    EXPECT_TRUE(drawn.clipped.empty()) << drawn.clipped.front();
  }

  // The right answers, in the words of the author.
  void answer_all(const std::vector<LessonQuestion>& questions) {
    for (std::size_t i = 0; i < questions.size(); ++i)
      driver_->command(fmt::format("lesson.answer {} {}", i + 1, questions[i].answer));
  }

  std::unique_ptr<GuiDriver> driver_;
};

TEST_P(EveryPanel, IsDrawnInTheFirstAMiddleAndTheLastStepOfEveryShippedScenario) {
  for (const std::string& path : shipped_scenarios()) {
    SCOPED_TRACE(path);
    driver_->command("file.open " + path);
    driver_->command("run.end");
    const std::int64_t last = workbench().run()->step();
    for (const std::int64_t step : {std::int64_t{1}, (last + 1) / 2, last}) {
      driver_->command(fmt::format("run.go_to {}", step));
      draw_each_panel();
    }
  }
}

// Before and after its questions are answered, where a part asks before it shows its step.
// At the larger scale of every third lesson.
TEST_P(EveryPanel, IsDrawnInEveryPartOfEveryShippedLesson) {
  const std::size_t every = GetParam() == 100 ? 1 : 3;
  std::size_t number = 0;
  for (const std::string_view name : shipped_lesson_names()) {
    if (number++ % every != 0) continue;
    driver_->command(fmt::format("lesson.open {}", name));
    const std::size_t parts = workbench().lesson()->lesson().parts.size();
    for (std::size_t part = 0; part < parts; ++part) {
      SCOPED_TRACE(fmt::format("lesson {}, part {}", name, part + 1));
      ASSERT_EQ(workbench().lesson()->part_index(), part);
      draw_each_panel();
      answer_all(workbench().lesson()->part().questions);
      draw_each_panel();
      driver_->command("lesson.next");
    }
    EXPECT_EQ(workbench().lesson()->num_right(), workbench().lesson()->num_questions());
  }
}

INSTANTIATE_TEST_SUITE_P(Scale, EveryPanel, testing::Values(100, 200),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace hybridscope::test::every_panel_test
