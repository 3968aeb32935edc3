// The real window drawn into memory, driven by clicks, keys and typing.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gui/gui_session.h"
#include "gui/surface.h"

namespace hybridscope::test {

class GuiDriver {
 public:
  // Null if no image can be drawn without a display; reason() says why.
  static std::unique_ptr<GuiDriver> create(PixelSize size = {1280, 800},
                                           MonitorScale monitor_scale = {});
  static const std::string& reason();

  Workbench& workbench() { return session_->workbench(); }
  const Look& look() const { return session_->look(); }
  const ItemMarks& marks() const { return session_->marks(); }

  // Executes a command to its end, as in a script. Fails the test if it is refused.
  void command(std::string_view line);
  // The content of the clipboard.
  std::string clipboard() const;
  // Draws `count` frames.
  void frames(int count = 2);
  // Moves to the mark with this name and clicks. Fails the test if there is none.
  void click(std::string_view mark);
  void right_click(std::string_view mark);
  void double_click(std::string_view mark);
  void hover(std::string_view mark);
  // Presses at the middle of mark `from` and moves to `to` over several frames. The button stays
  // down until release().
  void drag(std::string_view from, ImVec2 to);
  void release();
  // Turns the wheel at the mouse position: 1 is one notch up.
  void wheel(float notches, bool ctrl = false);
  ImVec2 place_in(std::string_view mark, ImVec2 share);  // {0.5, 0.5}: the middle
  void type(std::string_view text);
  // A key by GLFW's number, on a keyboard of the US layout.
  void press(int key, bool ctrl = false, bool shift = false);
  // On any keyboard: the physical key, and what it types.
  void press_as(int key, std::string_view typed, bool shift = false);
  // A key event before the next frame is drawn.
  void key_goes_down(int key, const KeyModifiers& held = {}, std::string_view typed = {});
  GuiSession& session() { return *session_; }
  Surface& surface() { return session_->surface(); }
  Image picture();
  // From now on frames are made without pixels, which take most of a frame's time.
  void leave_pixels_out();

 private:
  explicit GuiDriver(std::unique_ptr<GuiSession> session) : session_(std::move(session)) {}
  void send_key(int key, const KeyModifiers& held, std::string_view typed);
  void press_button(std::string_view mark, ImGuiMouseButton button);
  const ItemBox* box_of(std::string_view mark);

  std::unique_ptr<GuiSession> session_;
  std::int64_t now_us_ = 0;  // advances with every frame
};

std::string scenario_path(const std::string& name);  // of a shipped one: "align_boundary_by_decode"

// What the last frame drew of a panel, read from ImGui's windows and lists.

struct DrawnPanel {
  int vertices = 0;                  // four a letter
  std::vector<std::string> clipped;  // items whose content is too wide for them, with both widths
  std::vector<std::string> scrolled_sideways;  // tables and the like with something beyond an edge
};

// Of the panels in front of their leaves, tooltips and dialogs left out.
DrawnPanel drawn_panels();

// Fixtures of tests that use the real window.

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
