// ImGui, a surface and the workbench together: draws frames and runs the commands they emit.
#pragma once

#include <memory>
#include <vector>

#include "core/base/result.h"
#include "gui/look.h"
#include "gui/model/workbench.h"
#include "gui/panel_pictures.h"
#include "gui/shell.h"
#include "gui/surface.h"

namespace hybridscope {

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

}  // namespace hybridscope
