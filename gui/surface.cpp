#include "gui/surface.h"

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <fmt/core.h>
#include <imgui.h>
#include <png.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gui/keyboard.h"
#include "sessions/text/output_file.h"

namespace hybridscope {

// Pixels from OpenGL, and into PNG files.

Image read_pixels(const Surface& surface) {
  Image image{.size = surface.size(), .rgba = {}};
  const auto row = static_cast<std::size_t>(image.size.width) * 4;
  const auto height = static_cast<std::size_t>(image.size.height);
  std::vector<std::uint8_t> upside_down(row * height);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, image.size.width, image.size.height, GL_RGBA, GL_UNSIGNED_BYTE,
               upside_down.data());
  image.rgba.reserve(upside_down.size());
  for (std::size_t y = height; y-- > 0;) {
    const auto from = upside_down.begin() + static_cast<std::ptrdiff_t>(y * row);
    image.rgba.insert(image.rgba.end(), from, from + static_cast<std::ptrdiff_t>(row));
  }
  for (std::size_t i = 3; i < image.rgba.size(); i += 4) image.rgba[i] = 255;
  return image;
}

Image cut_out(const Image& image, const PixelRect& rect) {
  const std::int32_t left = std::clamp(rect.x, 0, image.size.width);
  const std::int32_t top = std::clamp(rect.y, 0, image.size.height);
  const std::int32_t right = std::clamp(rect.x + rect.width, left, image.size.width);
  const std::int32_t bottom = std::clamp(rect.y + rect.height, top, image.size.height);
  Image part{.size = {right - left, bottom - top}, .rgba = {}};
  const auto offset = [&](std::int32_t x, std::int32_t y) {
    return (std::ptrdiff_t{y} * image.size.width + x) * 4;
  };
  for (std::int32_t y = top; y < bottom; ++y)
    part.rgba.insert(part.rgba.end(), image.rgba.begin() + offset(left, y),
                     image.rgba.begin() + offset(right, y));
  return part;
}

std::string opengl_words() {
  const auto* version = reinterpret_cast<const char*>(glGetString(GL_VERSION));
  const auto* renderer = reinterpret_cast<const char*>(glGetString(GL_RENDERER));
  return fmt::format("{}, {}", version == nullptr ? "unknown" : version,
                     renderer == nullptr ? "unknown" : renderer);
}

Status write_png(const Image& image, const std::string& path) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.size.width);
  png.height = static_cast<png_uint_32>(image.size.height);
  png.format = PNG_FORMAT_RGBA;
  // Through memory: libpng does not say why a file cannot be written.
  png_alloc_size_t num_bytes = PNG_IMAGE_PNG_SIZE_MAX(png);
  std::string bytes(num_bytes, '\0');
  if (png_image_write_to_memory(&png, bytes.data(), &num_bytes, 0, image.rgba.data(), 0, nullptr) ==
      0)
    return Error{ErrorKind::device, fmt::format("cannot write {}: {}", path, png.message)};
  bytes.resize(num_bytes);
  return write_output_file(path, bytes);
}

// An image in memory by EGL without a display (Mesa's surfaceless platform).

namespace {

Error no_egl(const char* what) {
  return {ErrorKind::device, fmt::format("no drawing without a display: {} (EGL error {:#x})", what,
                                         static_cast<unsigned>(eglGetError()))};
}

class OffscreenSurface final : public Surface {
 public:
  OffscreenSurface(EGLDisplay display, EGLContext context, PixelSize size, MonitorScale scale)
      : display_(display), context_(context), size_(size), scale_(std::move(scale)) {
    glGenRenderbuffers(1, &pixels_);
    glBindRenderbuffer(GL_RENDERBUFFER, pixels_);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, size.width, size.height);
    glGenFramebuffers(1, &frame_);
    glBindFramebuffer(GL_FRAMEBUFFER, frame_);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, pixels_);
    map_keys();
    ImGuiIO& io = ImGui::GetIO();
    io.ClipboardUserData = &clipboard_;
    io.SetClipboardTextFn = [](void* kept, const char* text) {
      *static_cast<std::string*>(kept) = text;
    };
    io.GetClipboardTextFn = [](void* kept) { return static_cast<std::string*>(kept)->c_str(); };
  }
  ~OffscreenSurface() override {
    glDeleteFramebuffers(1, &frame_);
    glDeleteRenderbuffers(1, &pixels_);
    eglMakeCurrent(display_, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    // The display is kept: the next surface uses the same one, and unloading drivers leaks memory.
    eglDestroyContext(display_, context_);
  }

  PixelSize size() const override { return size_; }
  float content_scale() const override { return scale_ ? scale_() : 1.0F; }
  void begin_frame() override {
    ImGuiIO& io = ImGui::GetIO();
    io.DisplaySize = ImVec2(static_cast<float>(size_.width), static_cast<float>(size_.height));
    io.DeltaTime = 1.0F / 60.0F;
  }
  void present() override { glFinish(); }
  bool should_close() const override { return false; }
  void keep_open() override {}
  bool wait(double) override { return false; }
  bool is_window() const override { return false; }
  void set_title(const std::string&) override {}

 private:
  EGLDisplay display_;
  EGLContext context_;
  PixelSize size_;
  MonitorScale scale_;
  GLuint frame_ = 0;
  GLuint pixels_ = 0;
  std::string clipboard_;  // instead of a desktop's
};

}  // namespace

Result<std::unique_ptr<Surface>> make_offscreen(PixelSize size, MonitorScale scale) {
  EGLDisplay display =
      eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, nullptr);
  if (display == EGL_NO_DISPLAY) return no_egl("no surfaceless platform");
  if (eglInitialize(display, nullptr, nullptr) == EGL_FALSE) return no_egl("no display of it");
  eglBindAPI(EGL_OPENGL_API);
  const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
  EGLConfig config = nullptr;
  EGLint count = 0;
  if (eglChooseConfig(display, wanted, &config, 1, &count) == EGL_FALSE || count == 0)
    return no_egl("no configuration with OpenGL");
  const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION,
                            3,
                            EGL_CONTEXT_MINOR_VERSION,
                            3,
                            EGL_CONTEXT_OPENGL_PROFILE_MASK,
                            EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                            EGL_NONE};
  EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
  if (context == EGL_NO_CONTEXT) return no_egl("no context of OpenGL 3.3");
  if (eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context) == EGL_FALSE)
    return no_egl("the context cannot be used without a surface");
  return std::unique_ptr<Surface>(
      std::make_unique<OffscreenSurface>(display, context, size, std::move(scale)));
}

// A window of the desktop by GLFW.

namespace {

Error no_window(const std::string& what) {
  const char* reason = nullptr;
  glfwGetError(&reason);
  return {ErrorKind::device, reason == nullptr ? what : fmt::format("{}: {}", what, reason)};
}

std::string key_print_of_glfw(int key) {
  const char* name = glfwGetKeyName(key, 0);
  return name == nullptr ? std::string() : std::string(name);
}

class WindowSurface final : public Surface {
 public:
  explicit WindowSurface(GLFWwindow* window) : window_(window) {
    glfwSetWindowUserPointer(window_, this);
    watch_input();
    keys().follow_layout(key_print_of_glfw);
    ImGui_ImplGlfw_InitForOpenGL(window_, true);  // calls the callbacks that were there before
  }
  ~WindowSurface() override {
    ImGui_ImplGlfw_Shutdown();
    glfwDestroyWindow(window_);
    glfwTerminate();
  }

  PixelSize size() const override {
    PixelSize size;
    glfwGetFramebufferSize(window_, &size.width, &size.height);
    return size;
  }
  float content_scale() const override {
    float x = 1;
    float y = 1;
    glfwGetWindowContentScale(window_, &x, &y);
    return x > y ? x : y;
  }
  void begin_frame() override { ImGui_ImplGlfw_NewFrame(); }
  void present() override { glfwSwapBuffers(window_); }
  bool should_close() const override { return glfwWindowShouldClose(window_) != 0; }
  void keep_open() override { glfwSetWindowShouldClose(window_, GLFW_FALSE); }
  bool wait(double seconds) override {
    had_input_ = false;
    if (seconds <= 0)
      glfwPollEvents();
    else
      glfwWaitEventsTimeout(seconds);
    return had_input_;
  }
  bool is_window() const override { return true; }
  void set_title(const std::string& title) override { glfwSetWindowTitle(window_, title.c_str()); }

 private:
  static WindowSurface& of(GLFWwindow* window) {
    return *static_cast<WindowSurface*>(glfwGetWindowUserPointer(window));
  }
  static void note_input(GLFWwindow* window) { of(window).had_input_ = true; }
  static void note_key(GLFWwindow* window, int key, int, int action, int mods) {
    note_input(window);
    if (action == GLFW_RELEASE) return;
    of(window).keys().key_down(key, {.ctrl = (mods & GLFW_MOD_CONTROL) != 0,
                                     .shift = (mods & GLFW_MOD_SHIFT) != 0,
                                     .alt = (mods & GLFW_MOD_ALT) != 0});
  }
  static void note_character(GLFWwindow* window, unsigned character) {
    note_input(window);
    of(window).keys().typed(character);
  }
  void watch_input() {
    glfwSetCursorPosCallback(window_, [](GLFWwindow* w, double, double) { note_input(w); });
    glfwSetCursorEnterCallback(window_, [](GLFWwindow* w, int) { note_input(w); });
    glfwSetMouseButtonCallback(window_, [](GLFWwindow* w, int, int, int) { note_input(w); });
    glfwSetScrollCallback(window_, [](GLFWwindow* w, double, double) { note_input(w); });
    glfwSetKeyCallback(window_, note_key);
    glfwSetCharCallback(window_, note_character);
    glfwSetWindowFocusCallback(window_, [](GLFWwindow* w, int) { note_input(w); });
    glfwSetWindowRefreshCallback(window_, [](GLFWwindow* w) { note_input(w); });
    glfwSetFramebufferSizeCallback(window_, [](GLFWwindow* w, int, int) { note_input(w); });
    glfwSetWindowContentScaleCallback(window_, [](GLFWwindow* w, float, float) { note_input(w); });
    glfwSetWindowCloseCallback(window_, [](GLFWwindow* w) { note_input(w); });
  }

  GLFWwindow* window_;
  bool had_input_ = false;
};

// At most the size of the monitor; sizes are scaled by its density.
PixelSize fitted(PixelSize size) {
  GLFWmonitor* const monitor = glfwGetPrimaryMonitor();
  if (monitor == nullptr) return size;
  float x_scale = 1;
  float y_scale = 1;
  glfwGetMonitorContentScale(monitor, &x_scale, &y_scale);
  PixelSize room;
  glfwGetMonitorWorkarea(monitor, nullptr, nullptr, &room.width, &room.height);
  if (room.width <= 0 || room.height <= 0) return size;
  const auto unscaled = [](std::int32_t pixels, float scale) {
    return static_cast<std::int32_t>(static_cast<float>(pixels) / scale);
  };
  return {std::min(size.width, unscaled(room.width, x_scale)),
          std::min(size.height, unscaled(room.height, y_scale))};
}

}  // namespace

Result<std::unique_ptr<Surface>> make_window(PixelSize wanted, const std::string& title) {
  if (glfwInit() == GLFW_FALSE) return no_window("no display");
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  glfwWindowHint(GLFW_SCALE_TO_MONITOR, GLFW_TRUE);
  const PixelSize size = fitted(wanted);
  GLFWwindow* window = glfwCreateWindow(size.width, size.height, title.c_str(), nullptr, nullptr);
  if (window == nullptr) {
    const Error error = no_window("no window with OpenGL 3.3");
    glfwTerminate();
    return error;
  }
  glfwMakeContextCurrent(window);
  glfwSwapInterval(1);
  return std::unique_ptr<Surface>(std::make_unique<WindowSurface>(window));
}

}  // namespace hybridscope
