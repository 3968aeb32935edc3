// The window attached to an engine that the test plays, drawn without a display.
#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "gui/gui_loop.h"
#include "gui/keyboard.h"
#include "tests/gui/driven_window.h"
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

}  // namespace
}  // namespace hybridscope::test::attached_window_test
