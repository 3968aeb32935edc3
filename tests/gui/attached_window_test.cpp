// The window attached to an engine that the test plays, drawn without a display.

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "gui/gui_session.h"
#include "gui/keyboard.h"
#include "tests/gui/gui_driver.h"
#include "tests/sessions/judge/judged_run.h"
#include "tests/support/engine_socket.h"
#include "tests/support/temporary_folder.h"

namespace hybridscope::test::attached_window_test {
namespace {

class AttachedWindow : public DrivenWindow {
 protected:
  Workbench& workbench() { return driver_->workbench(); }
  std::string lines(std::size_t first, std::size_t last) const {
    std::string text;
    for (std::size_t i = first; i <= last; ++i) text += trace_[i].dump() + "\n";
    return text;
  }
  void attach_socket() {
    workbench().attach({.place = "unix:" + (folder_ / "engine")});
    engine_.take_client();
  }
  // Until the step is shown, for ten seconds at most.
  void show(std::int64_t step) {
    ASSERT_TRUE(workbench().apply({"engine.wait", std::to_string(step)}).ok());
    settle(workbench());
    driver_->frames();
    ASSERT_NE(workbench().run(), nullptr);
    EXPECT_GE(workbench().run()->last_known_step(), step);
  }

  const std::vector<nlohmann::json> trace_ = trace_of("preemption_and_resume");
  const TemporaryFolder folder_;
  EngineSocket engine_{folder_ / "engine"};
};

TEST_F(AttachedWindow, SaysWhatItWaitsForBeforeTheFirstStep) {
  attach_socket();
  driver_->frames();
  EXPECT_TRUE(driver_->marks().contains("attached state"));
  EXPECT_TRUE(driver_->marks().contains("attached waiting"));
  EXPECT_FALSE(driver_->marks().contains("ruler"));
}

TEST_F(AttachedWindow, ShowsTheNewestStepAndHowItStandsWithTheEngine) {
  attach_socket();
  engine_.send(lines(0, 5));
  show(5);
  for (const char* mark : {"attached state", "attached newest", "engine.follow", "engine.hold",
                           "engine.hold_at_findings", "ruler"})
    EXPECT_TRUE(driver_->marks().contains(mark)) << mark;
  EXPECT_FALSE(driver_->marks().contains("attached behind"));
  EXPECT_EQ(workbench().run()->step(), 5);
}

TEST_F(AttachedWindow, ALookAtThePastStaysAndTheKeyFGoesBackToTheNewest) {
  attach_socket();
  engine_.send(lines(0, 5));
  show(5);
  driver_->click("run.step_back");
  engine_.send(lines(6, 8));
  show(8);
  EXPECT_EQ(workbench().run()->step(), 4);
  driver_->press(glfw_key(Key::f));
  EXPECT_EQ(workbench().run()->step(), 8);
}

TEST_F(AttachedWindow, ItsButtonsHoldTheEngineAndLetItContinue) {
  attach_socket();
  engine_.send(lines(0, 5));
  show(5);
  driver_->click("engine.hold");
  EXPECT_EQ(engine_.receive(), "hold");
  engine_.send("{\"control\":\"held\",\"step\":5,\"reason\":\"a client\"}\n" + lines(6, 6));
  show(6);
  ASSERT_TRUE(driver_->marks().contains("attached words"));
  driver_->click("engine.continue");
  EXPECT_EQ(engine_.receive(), "continue");
}

TEST_F(AttachedWindow, HasNoButtonToHoldAnEngineThatWritesAFile) {
  folder_.write("trace.jsonl", lines(0, 5));
  workbench().attach({.place = folder_ / "trace.jsonl"});
  show(5);
  EXPECT_TRUE(driver_->marks().contains("engine.follow"));
  EXPECT_FALSE(driver_->marks().contains("engine.hold"));
}

TEST_F(AttachedWindow, WorksOffAllThatIsInAFileBeforeAPicture) {
  folder_.write("trace.jsonl", lines(0, 12));
  workbench().attach({.place = folder_ / "trace.jsonl"});
  wait_for_engine(workbench());
  ASSERT_NE(workbench().run(), nullptr);
  EXPECT_EQ(workbench().run()->step(), 12);
}

// Two runs side by side, as a person uses them.

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

}  // namespace hybridscope::test::attached_window_test
