// An image in memory by EGL without a display (Mesa's surfaceless platform).
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <fmt/core.h>
#include <imgui.h>

#include <string>
#include <utility>

#include "gui/keyboard.h"
#include "gui/surface.h"

namespace hybridscope {
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

}  // namespace hybridscope
