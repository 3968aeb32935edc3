#include "gui/gui_session.h"

#include <GL/gl.h>
#include <backends/imgui_impl_opengl3.h>
#include <fmt/core.h>
#include <imgui_internal.h>

#include <algorithm>
#include <cfloat>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "gui/model/panel_infos.h"
#include "gui/surface.h"
#include "sessions/text/input_file.h"

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

namespace {

// Frames until a panel has settled.
constexpr int kFramesBeforePicture = 4;

PixelRect pixels_of(const ItemBox& box) {
  const ImVec2 scale = ImGui::GetIO().DisplayFramebufferScale;
  const auto whole = [](float value) { return static_cast<std::int32_t>(std::floor(value)); };
  return {.x = whole(box.min.x * scale.x),
          .y = whole(box.min.y * scale.y),
          .width = whole((box.max.x - box.min.x) * scale.x),
          .height = whole((box.max.y - box.min.y) * scale.y)};
}

}  // namespace

void PanelPictures::take(Workbench& workbench, const ItemMarks& marks, const Surface& surface) {
  std::vector<PanelPicture>& due = workbench.outbox().pictures;
  if (due.empty() || ++frames_ < kFramesBeforePicture) return;
  frames_ = 0;
  const PanelPicture picture = due.front();
  due.erase(due.begin());
  const auto box = marks.find("panel " + picture.panel);
  const Image image =
      box == marks.end() ? Image() : cut_out(read_pixels(surface), pixels_of(box->second));
  last_ = image.rgba.empty()
              ? Status(Error{ErrorKind::not_available,
                             fmt::format("{}: not written, panel {} has no room in the window",
                                         picture.path, picture.panel)})
              : write_png(image, picture.path);
  if (last_.ok())
    workbench.say(NoticeKind::info, fmt::format("Exported: {} as {}, {} x {} pixels",
                                                workbench.view().find_panel(picture.panel)->title,
                                                picture.path, image.size.width, image.size.height));
  else
    workbench.say(NoticeKind::error, last_.error().message);
  workbench.touch();
}

namespace {

// Work on a run between two frames.
constexpr std::int64_t kSliceUs = 10'000;
// ImGui settles over a few frames after each change.
constexpr int kFramesAChange = 3;
constexpr double kIdleWaitSeconds = 0.5;
// While an engine is attached, whose steps can come at any time.
constexpr double kAttachedWaitSeconds = 0.05;
constexpr std::int64_t kEnginePatienceUs = 10'000'000;
// Redraws the progress of a comparison, which nothing else does.
constexpr std::int64_t kComparedEveryUs = 200'000;

// The progress of the file being written, in steps of its bar; -1: none.
int written_share(const Workbench& workbench) {
  const FileJob* job = workbench.job();
  if (job == nullptr) return -1;
  return static_cast<int>(job->num_done() * 100 / std::max<std::int64_t>(job->num_steps(), 1));
}

}  // namespace

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void run_loop(GuiSession& session, const std::function<bool()>& is_over) {
  Workbench& workbench = session.workbench();
  std::uint64_t drawn = 0;
  int frames_due = kFramesAChange;
  int shown_share = -1;
  std::int64_t compared_shown_us = 0;
  while (!workbench.wants_to_quit() && !is_over()) {
    if (session.surface().should_close()) {
      session.surface().keep_open();
      (void)workbench.apply_in_window({"file.quit"});
    }
    if (!workbench.outbox().pictures.empty()) frames_due = kFramesAChange;
    const bool busy = workbench.is_busy() || frames_due > 0;
    const double idle_wait =
        workbench.attached() == nullptr ? kIdleWaitSeconds : kAttachedWaitSeconds;
    if (session.surface().wait(busy ? 0.0 : idle_wait)) frames_due = kFramesAChange;
    workbench.advance(kSliceUs, now_us);
    if (workbench.revision() != drawn) frames_due = kFramesAChange;
    if (const int share = written_share(workbench); std::exchange(shown_share, share) != share)
      frames_due = kFramesAChange;
    const Comparison* comparison = workbench.comparison();
    if (comparison != nullptr && !comparison->complete() &&
        now_us() - compared_shown_us > kComparedEveryUs) {
      compared_shown_us = now_us();
      frames_due = std::max(frames_due, 1);
    }
    if (frames_due <= 0) {
      if (workbench.is_busy() || workbench.attached() != nullptr)
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
      continue;
    }
    --frames_due;
    drawn = workbench.revision();
    session.draw_frame();
    if (session.is_settling()) frames_due = std::max(frames_due, 1);
  }
}

void wait_for_engine(Workbench& workbench) {
  const std::int64_t start = now_us();
  const auto is_over = [&] {
    const AttachedEngine* engine = workbench.attached();
    return engine == nullptr || stop_requested() || engine->has_caught_up() ||
           now_us() - start > kEnginePatienceUs ||
           (engine->status().state == AttachState::ended && engine->num_behind() == 0);
  };
  while (!is_over()) {
    workbench.advance(kSliceUs, now_us);
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
}

void settle(Workbench& workbench) {
  std::uint64_t before = 0;
  while (!stop_requested() && (workbench.is_busy() || before != workbench.revision())) {
    before = workbench.revision();
    workbench.advance(kSliceUs, now_us);
    // The steps that are waited for are judged by other threads.
    if (workbench.attached() != nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace hybridscope
