// A window of the desktop by GLFW.
#include <GLFW/glfw3.h>
#include <backends/imgui_impl_glfw.h>
#include <fmt/core.h>
#include <imgui.h>

#include <algorithm>

#include "gui/surface.h"

namespace hybridscope {
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
