// What the workbench is drawn on: a window of the desktop, or an image in memory where there is no
// display. Owns the OpenGL context and brings ImGui's input.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "gui/keyboard.h"

namespace hybridscope {

struct PixelSize {
  std::int32_t width = 0;
  std::int32_t height = 0;
  friend bool operator==(const PixelSize&, const PixelSize&) = default;
};

// 8-bit RGBA, the top row first.
struct Image {
  PixelSize size;
  std::vector<std::uint8_t> rgba;  // [height * width * 4]
};

struct PixelRect {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t width = 0;
  std::int32_t height = 0;
};
// The part of the image in the rectangle; empty where they have nothing in common.
Image cut_out(const Image& image, const PixelRect& rect);

class Surface {
 public:
  Surface() = default;
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  virtual ~Surface() = default;

  // Of what is drawn on, in pixels.
  virtual PixelSize size() const = 0;
  // Of the monitor: 2 on one with twice the usual density.
  virtual float content_scale() const = 0;
  // Tells ImGui of its display size, time and input. Call before ImGui::NewFrame().
  virtual void begin_frame() = 0;
  // Shows what was drawn.
  virtual void present() = 0;
  virtual bool should_close() const = 0;
  // The person who wants it closed is to be asked first.
  virtual void keep_open() = 0;
  // Lets input in; waits for some for at most so many seconds. Was there any, or has what is shown
  // been lost?
  virtual bool wait(double seconds) = 0;
  // A window of the desktop, which waits for input.
  virtual bool is_window() const = 0;
  virtual void set_title(const std::string& title) = 0;
  // What was pressed on it.
  KeyQueue& keys() { return keys_; }

 private:
  KeyQueue keys_;
};

// A window, no larger than the monitor. Requires an ImGui context. Error not_available: no display,
// no OpenGL 3.
Result<std::unique_ptr<Surface>> make_window(PixelSize size, const std::string& title);

// The content scale of the monitor that an image stands for, asked anew for each frame; empty: 1.
using MonitorScale = std::function<float()>;

// An image in memory, drawn with EGL and no display. Requires an ImGui context. Time goes on by a
// sixtieth of a second a frame. Error not_available: no EGL that can do so.
Result<std::unique_ptr<Surface>> make_offscreen(PixelSize size, MonitorScale scale = {});

// "4.5 (Core Profile) Mesa 22.3.6, llvmpipe". Requires a surface.
std::string opengl_words();

// What is on the surface at the moment.
Image read_pixels(const Surface& surface);

}  // namespace hybridscope
