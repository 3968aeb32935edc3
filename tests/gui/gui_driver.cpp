#include "tests/gui/gui_driver.h"

#include <fmt/core.h>
#include <imgui.h>
#include <imgui_internal.h>

#include <string_view>

#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <gtest/gtest.h>

#include <utility>

#include "gui/model/command_table.h"

namespace hybridscope::test {
namespace {

std::string& stored_reason() {
  static std::string reason;
  return reason;
}

}  // namespace

std::unique_ptr<GuiDriver> GuiDriver::create(PixelSize size, MonitorScale monitor_scale) {
  auto session = GuiSession::create(
      {.size = size, .offscreen = true, .monitor_scale = std::move(monitor_scale)});
  if (!session.ok()) {
    stored_reason() = session.error().message;
    return nullptr;
  }
  return std::unique_ptr<GuiDriver>(new GuiDriver(std::move(session).value()));
}

const std::string& GuiDriver::reason() { return stored_reason(); }

void GuiDriver::command(std::string_view line) {
  const auto commands = read_gui_script(line, "test");
  ASSERT_TRUE(commands.ok()) << commands.error().message;
  for (const GuiCommand& command : commands.value()) {
    const Status done = workbench().apply(command);
    ASSERT_TRUE(done.ok()) << line << ": " << done.error().message;
    while (workbench().is_busy()) workbench().advance(1000, [&] { return now_us_ += 100'000; });
  }
}

void GuiDriver::frames(int count) {
  for (int i = 0; i < count; ++i) {
    workbench().advance(1000, [&] { return now_us_ += 16'667; });
    session_->draw_frame();
  }
}

const ItemBox* GuiDriver::box_of(std::string_view mark) {
  frames();
  const auto found = marks().find(mark);
  if (found != marks().end()) return &found->second;
  std::string known;
  for (const auto& [name, box] : marks()) known += "\n  " + name;
  ADD_FAILURE() << "nothing is marked \"" << mark << "\"; marked are:" << known;
  return nullptr;
}

void GuiDriver::hover(std::string_view mark) {
  const ItemBox* box = box_of(mark);
  if (box == nullptr) return;
  ImGui::GetIO().MousePos = box->centre();
  frames();
}

void GuiDriver::press_button(std::string_view mark, ImGuiMouseButton button) {
  hover(mark);
  ImGui::GetIO().MouseDown[button] = true;
  frames(1);
  ImGui::GetIO().MouseDown[button] = false;
  frames();
}

void GuiDriver::click(std::string_view mark) { press_button(mark, ImGuiMouseButton_Left); }
void GuiDriver::right_click(std::string_view mark) { press_button(mark, ImGuiMouseButton_Right); }

void GuiDriver::double_click(std::string_view mark) {
  click(mark);
  click(mark);
}

std::string GuiDriver::clipboard() const { return ImGui::GetClipboardText(); }
void GuiDriver::drag(std::string_view from, ImVec2 to) {
  hover(from);
  ImGuiIO& io = ImGui::GetIO();
  const ImVec2 start = io.MousePos;
  io.MouseDown[0] = true;
  frames(1);
  constexpr int kMoves = 8;
  for (int i = 1; i <= kMoves; ++i) {
    const float share = static_cast<float>(i) / kMoves;
    io.MousePos = ImVec2(start.x + (to.x - start.x) * share, start.y + (to.y - start.y) * share);
    frames(1);
  }
}

void GuiDriver::release() {
  ImGui::GetIO().MouseDown[0] = false;
  frames();
}

void GuiDriver::wheel(float notches, bool ctrl) {
  ImGuiIO& io = ImGui::GetIO();
  io.KeyCtrl = ctrl;
  io.MouseWheel = notches;
  frames(1);
  io.KeyCtrl = false;
  frames(3);
}

ImVec2 GuiDriver::place_in(std::string_view mark, ImVec2 share) {
  const ItemBox* box = box_of(mark);
  if (box == nullptr) return {};
  return {box->min.x + (box->max.x - box->min.x) * share.x,
          box->min.y + (box->max.y - box->min.y) * share.y};
}

void GuiDriver::type(std::string_view text) {
  ImGui::GetIO().AddInputCharactersUTF8(std::string(text).c_str());
  frames();
}

namespace {

// What GLFW reports as typed: the numbers of such keys are their characters.
std::string typed_by(int key, bool shift) {
  if (key <= ' ' || key > '~') return {};
  if (shift && key == '/') return "?";
  if (shift && key == '=') return "+";
  const bool is_letter = key >= 'A' && key <= 'Z';
  return {static_cast<char>(is_letter && !shift ? key - 'A' + 'a' : key)};
}

}  // namespace

void GuiDriver::press(int key, bool ctrl, bool shift) {
  send_key(key, {.ctrl = ctrl, .shift = shift}, ctrl ? std::string() : typed_by(key, shift));
}

void GuiDriver::press_as(int key, std::string_view typed, bool shift) {
  send_key(key, {.shift = shift}, typed);
}

void GuiDriver::send_key(int key, const KeyModifiers& held, std::string_view typed) {
  key_goes_down(key, held, typed);
  ImGuiIO& io = ImGui::GetIO();
  io.KeyCtrl = held.ctrl;
  io.KeyShift = held.shift;
  io.KeysDown[key] = true;
  frames(1);
  io.KeysDown[key] = false;
  io.KeyCtrl = io.KeyShift = false;
  frames();
}

void GuiDriver::key_goes_down(int key, const KeyModifiers& held, std::string_view typed) {
  session_->surface().keys().key_down(key, held);
  ImGui::GetIO().AddInputCharactersUTF8(std::string(typed).c_str());
  for (const char character : typed)
    session_->surface().keys().typed(static_cast<unsigned char>(character));
}

Image GuiDriver::picture() {
  frames();
  return read_pixels(session_->surface());
}

void GuiDriver::leave_pixels_out() { glEnable(GL_RASTERIZER_DISCARD); }

std::string scenario_path(const std::string& name) {
  return std::string(HYBRIDSCOPE_SOURCE_DIR) + "/scenarios/" + name + ".json";
}

}  // namespace hybridscope::test

namespace hybridscope::test {
namespace {

// Shell draws each panel in a child window of this name; the panel's own children are below it.
bool is_of_panel(std::string_view window) {
  return window.find("/body_") != std::string_view::npos;
}

bool scrolls_sideways(const ImGuiWindow& window) {
  return (window.Flags & ImGuiWindowFlags_HorizontalScrollbar) != 0;
}

}  // namespace

DrawnPanel drawn_panels() {
  DrawnPanel drawn;
  const ImDrawData& data = *ImGui::GetDrawData();
  for (int i = 0; i < data.CmdListsCount; ++i) {
    const ImDrawList& list = *data.CmdLists[i];
    if (is_of_panel(list._OwnerName)) drawn.vertices += list.VtxBuffer.Size;
  }
  for (const ImGuiWindow* window : ImGui::GetCurrentContext()->Windows) {
    if (!window->Active || !is_of_panel(window->Name)) continue;
    if (window->ScrollMax.x > 0) drawn.scrolled_sideways.emplace_back(window->Name);
    if (scrolls_sideways(*window)) continue;
    const float room = window->InnerRect.GetWidth() - 2 * window->WindowPadding.x;
    if (window->ContentSize.x > room + 1)
      drawn.clipped.push_back(
          fmt::format("{}: {} in {}", window->Name, window->ContentSize.x, room));
  }
  return drawn;
}

}  // namespace hybridscope::test
