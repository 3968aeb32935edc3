// ImGui, a surface and the workbench together: draws frames, runs the commands they emit, and
// writes pictures of panels; and the loop that draws when there is something new to see.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "gui/look.h"
#include "gui/model/workbench.h"
#include "gui/panel.h"
#include "gui/shell.h"
#include "gui/surface.h"

namespace hybridscope {

// Writes the pictures of panels that commands have requested, once the panel is in front and has
// settled.

class PanelPictures {
 public:
  // Takes pictures from a frame that was drawn but not presented yet, with its marks.
  void take(Workbench& workbench, const ItemMarks& marks, const Surface& surface);
  // The result of the last picture. Errors not_available: the file cannot be written, or the panel
  // has no room in the window.
  const Status& last() const { return last_; }

 private:
  int frames_ = 0;  // drawn since the first picture in the outbox became due
  Status last_ = Ok{};
};

class GuiSession {
 public:
  struct Options {
    PixelSize size{1600, 1000};
    bool offscreen = false;
    MonitorScale monitor_scale = {};  // where it is drawn off screen
  };
  // Error device: no display, no OpenGL.
  static Result<std::unique_ptr<GuiSession>> create(const Options& options);
  GuiSession(const GuiSession&) = delete;
  GuiSession& operator=(const GuiSession&) = delete;
  ~GuiSession();

  Workbench& workbench() { return workbench_; }
  Surface& surface() { return *surface_; }
  const Look& look() const { return look_; }
  // Where the items of the last drawn frame are.
  const ItemMarks& marks() const { return marks_; }

  // How the last picture of a panel ended.
  const Status& last_picture() const { return pictures_.last(); }

  // Is something on screen still moving by itself, such as tabs that scroll into view?
  bool is_settling() const;

  // Draws the workbench, applies the commands that this emitted, and handles what they leave: text
  // for the clipboard, pictures of panels.
  void draw_frame();

 private:
  GuiSession();
  Status start(const Options& options);
  void update_look();
  void sharpen_fonts();

  Workbench workbench_;
  Look look_;
  std::unique_ptr<Surface> surface_;
  Shell shell_;
  std::vector<GuiCommand> commands_;
  ItemMarks marks_;
  PanelPictures pictures_;
  bool renders_ = false;
};

// The loop that draws the workbench when there is something new to see.

// Microseconds of a clock that only goes forward.
std::int64_t now_us();

// Draws when the user did something or the run advanced, until `is_over` or the window is closed.
void run_loop(GuiSession& session, const std::function<bool()>& is_over);

// Works until the window has all that the attached engine has written so far, or its trace has
// ended; at most ten seconds.
void wait_for_engine(Workbench& workbench);

// Works until the run has stopped, all differences are listed and all files are read.
void settle(Workbench& workbench);

}  // namespace hybridscope
