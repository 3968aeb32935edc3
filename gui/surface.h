// What the workbench is drawn on: a desktop window, or an image in memory without a display. Owns
// the OpenGL context and delivers ImGui's input.
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
// The part of the image in the rectangle; empty if they do not overlap.
Image cut_out(const Image& image, const PixelRect& rect);

class Surface {
 public:
  Surface() = default;
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  virtual ~Surface() = default;

  // The size of the drawing area, in pixels.
  virtual PixelSize size() const = 0;
  // The monitor's scale: 2 for twice the usual density.
  virtual float content_scale() const = 0;
  // Gives ImGui display size, time and input. Call before ImGui::NewFrame().
  virtual void begin_frame() = 0;
  // Shows what was drawn.
  virtual void present() = 0;
  virtual bool should_close() const = 0;
  // Cancels a request to close the window, so that the user can be asked first.
  virtual void keep_open() = 0;
  // Takes input, waiting for at most `seconds`. True: there was input, or the shown image was lost.
  virtual bool wait(double seconds) = 0;
  // Is this a desktop window, which waits for input?
  virtual bool is_window() const = 0;
  virtual void set_title(const std::string& title) = 0;
  // The keys pressed.
  KeyQueue& keys() { return keys_; }

 private:
  KeyQueue keys_;
};

// Makes a window, no larger than the monitor. Requires an ImGui context. Error device: no display,
// no OpenGL 3.
Result<std::unique_ptr<Surface>> make_window(PixelSize size, const std::string& title);

// The content scale of an image's simulated monitor, read for each frame; empty: 1.
using MonitorScale = std::function<float()>;

// Makes an image in memory, drawn with EGL and no display. Requires an ImGui context. Time advances
// by a sixtieth of a second per frame. Error device: no EGL that supports this.
Result<std::unique_ptr<Surface>> make_offscreen(PixelSize size, MonitorScale scale = {});

// "4.5 (Core Profile) Mesa 22.3.6, llvmpipe". Requires a surface.
std::string opengl_words();

// The current content of the surface.
Image read_pixels(const Surface& surface);

// Images as PNG files.

// Writes the whole file or nothing. Error device: the file cannot be written.
Status write_png(const Image& image, const std::string& path);

}  // namespace hybridscope
