#include "gui/gui_session.h"

#include <GL/gl.h>
#include <backends/imgui_impl_opengl3.h>
#include <imgui_internal.h>

#include <cfloat>
#include <utility>

#include "gui/model/panel_infos.h"

namespace hybridscope {

GuiSession::GuiSession() : workbench_(panel_infos()) { ImGui::CreateContext(); }

GuiSession::~GuiSession() {
  shell_ = Shell();  // textures must be freed while there is a context
  if (renders_) ImGui_ImplOpenGL3_Shutdown();
  surface_.reset();
  ImGui::DestroyContext();
}

Result<std::unique_ptr<GuiSession>> GuiSession::create(const Options& options) {
  std::unique_ptr<GuiSession> session(new GuiSession());
  if (Status started = session->start(options); !started.ok()) return started.error();
  return session;
}

Status GuiSession::start(const Options& options) {
  ImGuiIO& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  auto surface = options.offscreen ? make_offscreen(options.size, options.monitor_scale)
                                   : make_window(options.size, "hybridscope");
  if (!surface.ok()) return surface.error();
  surface_ = std::move(surface).value();
  if (!ImGui_ImplOpenGL3_Init("#version 330 core"))
    return Error{ErrorKind::device, "OpenGL 3.3 cannot be used"};
  renders_ = true;
  return Ok{};
}

void GuiSession::update_look() {
  const float scale = workbench_.view().scale * surface_->content_scale();
  const bool same_fonts = look_.fonts.words != nullptr && look_.scale == scale;
  if (same_fonts && look_.theme.kind == workbench_.view().theme) return;
  look_.theme = theme_of(workbench_.view().theme);
  look_.scale = scale;
  if (!same_fonts) {
    // The texture of the first fonts is made with the shaders, by the first frame.
    const bool has_texture = look_.fonts.words != nullptr;
    look_.fonts = load_fonts(scale);
    if (has_texture) {
      ImGui_ImplOpenGL3_DestroyFontsTexture();
      ImGui_ImplOpenGL3_CreateFontsTexture();
    }
  }
  apply_style(look_);
}

// Glyphs lie on whole pixels, so nearest-neighbour lookup is exact, and half the work with software
// rendering.
void GuiSession::sharpen_fonts() {
  const auto texture =
      static_cast<GLuint>(reinterpret_cast<std::intptr_t>(ImGui::GetIO().Fonts->TexID));
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
}

bool GuiSession::is_settling() const {
  ImPool<ImGuiTabBar>& bars = ImGui::GetCurrentContext()->TabBars;
  for (int i = 0; i < bars.GetMapSize(); ++i)
    if (const ImGuiTabBar* bar = bars.TryGetMapData(i);
        bar != nullptr && bar->ScrollingAnim != bar->ScrollingTarget)
      return true;
  return false;
}

void GuiSession::draw_frame() {
  update_look();
  ImGui_ImplOpenGL3_NewFrame();
  sharpen_fonts();
  surface_->begin_frame();
  const bool is_picture_due = !workbench_.outbox().pictures.empty();
  const ImVec2 mouse = ImGui::GetIO().MousePos;
  // Pictures have no tooltip and no hovered item.
  if (is_picture_due) ImGui::GetIO().MousePos = ImVec2(-FLT_MAX, -FLT_MAX);
  ImGui::NewFrame();
  marks_.clear();
  PanelContext context{.workbench = workbench_,
                       .look = look_,
                       .commands = commands_,
                       .marks = marks_,
                       .keys = surface_->keys().take()};
  shell_.draw(context);
  ImGui::Render();
  const PixelSize size = surface_->size();
  const ImVec4 background = vec4(look_.ui().background);
  glViewport(0, 0, size.width, size.height);
  glClearColor(background.x, background.y, background.z, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  if (is_picture_due) {
    ImGui::GetIO().MousePos = mouse;
    pictures_.take(workbench_, marks_, *surface_);
  }
  surface_->present();
  const std::vector<GuiCommand> commands = std::exchange(commands_, {});
  for (const GuiCommand& command : commands) (void)workbench_.apply_in_window(command);
  if (const auto text = workbench_.outbox().take_clipboard())
    ImGui::SetClipboardText(text->c_str());
}

}  // namespace hybridscope
