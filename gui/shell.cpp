#include "gui/shell.h"

#include <fmt/core.h>

#include <cmath>

#include "gui/attached_bar.h"
#include "gui/cell_drawing.h"
#include "gui/keyboard.h"
#include "gui/model/command_table.h"
#include "gui/model/layout_tree.h"
#include "gui/panels/panels.h"
#include "gui/start_screen.h"
#include "gui/tab_drag.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// No background: the frame is cleared with its colour.
constexpr ImGuiWindowFlags kWholeWindow =
    ImGuiWindowFlags_NoTitleBar | ImGuiWindowFlags_NoBackground | ImGuiWindowFlags_NoResize |
    ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoCollapse | ImGuiWindowFlags_NoSavedSettings |
    ImGuiWindowFlags_MenuBar | ImGuiWindowFlags_NoBringToFrontOnFocus |
    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse;

std::int32_t whole(float value) { return static_cast<std::int32_t>(std::floor(value)); }

// The first of the keys of a command.
std::string first_key(std::string_view keys) { return std::string(keys.substr(0, keys.find(' '))); }

void draw_menu_item(PanelContext& context, const CommandRow& row) {
  std::string title(row.title);
  if (!row.argument.empty()) title += "...";
  const std::string keys = first_key(row.keys);
  if (ImGui::MenuItem(title.c_str(), keys.c_str(), false, is_possible(row, context.workbench)))
    context.emit(std::string(row.id));
}

void draw_panel_menu(PanelContext& context) {
  ImGui::Separator();
  for (const PanelInfo& panel : context.workbench.view().panels) {
    const std::string title(panel.title);
    const bool shown = context.workbench.view().layout.leaf_of(panel.id).has_value();
    if (ImGui::MenuItem(title.c_str(), nullptr, shown))
      context.emit(shown ? "panel.hide" : "panel.show", std::string(panel.id));
  }
}

// A progress bar and a button.
void draw_progress(PanelContext& context, const FileJob& job) {
  const Look& look = context.look;
  const float share = static_cast<float>(job.num_done()) /
                      static_cast<float>(std::max<std::int64_t>(job.num_steps(), 1));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const ImVec2 size(look.px(120), ImGui::GetTextLineHeight());
  ImGui::Dummy(size);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddRectFilled(at, ImVec2(at.x + size.x, at.y + size.y), packed(look.ui().field), look.px(2));
  list.AddRectFilled(at, ImVec2(at.x + size.x * share, at.y + size.y), packed(look.ui().accent),
                     look.px(2));
  list.AddRect(at, ImVec2(at.x + size.x, at.y + size.y), packed(look.ui().border), look.px(2), 0,
               1);
  context.mark("progress");
  ImGui::SameLine(0, look.px(8));
  ImGui::TextUnformatted(progress_words(job).c_str());
  ImGui::SameLine(0, look.px(8));
  if (ImGui::SmallButton("Stop")) context.emit("file.stop_writing");
  context.mark("file.stop_writing");
  tooltip("Stop writing; nothing of the file is kept (Escape)");
  ImGui::SameLine(0, look.px(12));
}

// Legend of the frames that mark differences, at the right end of the heads: a sample, and a word
// if there is room.
float differs_sample_width(PanelContext& context) {
  if (context.workbench.differences() == nullptr) return 0;
  const float sample = ImGui::GetTextLineHeight();
  const bool has_word = ImGui::GetContentRegionAvail().x > context.look.px(240);
  return has_word ? sample + context.look.px(4) + ImGui::CalcTextSize("differs").x : sample;
}

void draw_differs_sample(PanelContext& context, float width) {
  if (width <= 0) return;
  const Look& look = context.look;
  const float side = ImGui::GetTextLineHeight();
  ImGui::SameLine(ImGui::GetContentRegionMax().x - width - look.px(3));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy(ImVec2(side, side));
  constexpr const char* kHelp =
      "What is framed so differs between the two runs in this step; Differences lists it.";
  tooltip(kHelp);
  draw_frame(*ImGui::GetWindowDrawList(), look, {at, ImVec2(at.x + side, at.y + side)},
             FrameKind::differs);
  context.mark("differs");
  if (width <= side) return;
  ImGui::SameLine(0, look.px(4));
  dim_text(look, "differs");
  tooltip(kHelp);
}

}  // namespace

// An open dialog gets all keys except those that close it. While a tab is dragged, only Escape
// works: it cancels the drag. While a file is written, Escape stops that.
void Shell::handle_keys(PanelContext& context) {
  if (tab_drag_.is_on()) {
    for (const KeyChord& chord : context.keys)
      if (chord.key == Key::escape) tab_drag_.cancel();
    return;
  }
  const bool typing = ImGui::GetIO().WantTextInput;
  const bool covered = context.workbench.view().dialog != Dialog::none;
  for (const KeyChord& chord : context.keys) {
    if (typing && is_for_typing(chord)) continue;
    const CommandRow* row = keys_.find(chord);
    const bool is_escape = chord == KeyChord{.key = Key::escape};
    if (is_escape && !covered && context.workbench.job() != nullptr) {
      context.emit("file.stop_writing");
      continue;
    }
    if (row == nullptr || (covered && row->menu != "Help")) continue;
    if (is_possible(*row, context.workbench)) context.emit(std::string(row->id));
  }
}

void Shell::draw_menus(PanelContext& context) {
  if (!ImGui::BeginMenuBar()) return;
  for (const char* menu : {"File", "Edit", "Run", "Select", "Compare", "View", "Help"}) {
    if (!ImGui::BeginMenu(menu)) continue;
    for (const CommandRow* row : all_commands())
      if (row->menu == menu) draw_menu_item(context, *row);
    if (std::string_view(menu) == "View") draw_panel_menu(context);
    ImGui::EndMenu();
  }
  if (const ShownRun* run = context.workbench.run()) {
    const float left = ImGui::GetCursorPosX() + context.look.px(16);
    const float room = ImGui::GetWindowWidth() - left - context.look.px(16);
    const std::string title = fit_middle(context.look.fonts.words, run->title(), room);
    if (room > context.look.px(40)) {
      ImGui::SameLine(left + room - ImGui::CalcTextSize(title.c_str()).x);
      dim_text(context.look, title);
      tooltip(run->title());
    }
  }
  ImGui::EndMenuBar();
}

// In a comparison: the open run on the left, the other one on the right.
void Shell::draw_both_sides(PanelContext& context, const PanelInfo& info) {
  const std::string id(info.id);
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  const float width = (ImGui::GetContentRegionAvail().x - gap) / 2;
  const auto side = [&](const char* name, GuardedPanel& panel) {
    ImGui::BeginChild(name, ImVec2(width, 0), false);
    const float sample = differs_sample_width(context);
    {
      const ShownRun& run = *context.workbench.run();
      const FontScope bold(context.look.fonts.bold);
      const TextColour colour(context.look.ui().accent);
      const std::string where = context.workbench.has_step() ? fmt::format("step {}", run.step())
                                                             : "before its first step";
      const std::string words = fmt::format("{}: {}, {}", name, where, run.title());
      ImGui::TextUnformatted(fit_middle(context.look.fonts.bold, words,
                                        ImGui::GetContentRegionAvail().x - sample -
                                            context.look.px(sample > 0 ? 10 : 0))
                                 .c_str());
      tooltip(words);
    }
    draw_differs_sample(context, sample);
    panel.draw(context, info.id);
    ImGui::EndChild();
  };
  side("left", panels_[id]);
  ImGui::SameLine();
  const Workbench::SideScope other(context.workbench);
  side("right", other_panels_[id]);
}

void Shell::draw_panel(PanelContext& context, const std::string& id) {
  const PanelInfo* info = context.workbench.view().find_panel(id);
  if (context.workbench.comparison() != nullptr && info->of == PanelOf::run)
    draw_both_sides(context, *info);
  else
    panels_[id].draw(context, id);
}

// A click anywhere in the panel focuses it.
void Shell::draw_body(PanelContext& context, const std::string& id) {
  ImGui::BeginChild("body", ImVec2(0, 0), false);
  const bool clicked =
      ImGui::IsMouseClicked(ImGuiMouseButton_Left) || ImGui::IsMouseClicked(ImGuiMouseButton_Right);
  const PanelInfo* focused = context.workbench.view().panel_in_focus();
  if (clicked && ImGui::IsWindowHovered(ImGuiHoveredFlags_ChildWindows) &&
      (focused == nullptr || focused->id != id))
    context.emit("panel.show", id);
  draw_panel(context, id);
  ImGui::EndChild();
  // Includes the padding up to the frame and the tabs, so pictures of panels have a margin.
  const ImGuiStyle& style = ImGui::GetStyle();
  const ImVec2 around(style.WindowPadding.x - 1, style.WindowPadding.y - 1);
  const ImVec2 min = ImGui::GetItemRectMin();
  const ImVec2 max = ImGui::GetItemRectMax();
  context.mark("panel " + id, {ImVec2(min.x - around.x, min.y - style.ItemSpacing.y + 1),
                               ImVec2(max.x + around.x, max.y + around.y)});
}

void Shell::draw_leaf(PanelContext& context, const LayoutLeaf& leaf) {
  if (!ImGui::BeginTabBar("tabs", ImGuiTabBarFlags_FittingPolicyScroll)) return;
  for (std::size_t i = 0; i < leaf.panels.size(); ++i) {
    const PanelInfo* info = context.workbench.view().find_panel(leaf.panels[i]);
    if (info == nullptr) continue;
    const bool active = leaf.active == static_cast<std::int32_t>(i);
    const std::string label = fmt::format("{}###{}", info->title, info->id);
    const bool open =
        ImGui::BeginTabItem(label.c_str(), nullptr, active ? ImGuiTabItemFlags_SetSelected : 0);
    context.mark("tab " + leaf.panels[i]);
    const bool focused = info == context.workbench.view().panel_in_focus();
    if (active) draw_tab_cue(context.look, focused ? TabCue::focused : TabCue::front);
    if (ImGui::IsItemClicked() && !focused) context.emit("panel.show", leaf.panels[i]);
    tab_drag_.watch(context, leaf.panels[i]);
    if (!tab_drag_.is_on()) tooltip(info->help);
    draw_tab_menu(context, *info);
    if (!open) continue;
    if (active) draw_body(context, leaf.panels[i]);
    ImGui::EndTabItem();
  }
  ImGui::EndTabBar();
}

void Shell::draw_leaves(PanelContext& context, const LayoutAreas& areas) {
  for (const LeafArea& leaf : areas.leaves) {
    ImGui::SetCursorScreenPos(
        ImVec2(static_cast<float>(leaf.area.x), static_cast<float>(leaf.area.y)));
    ImGui::PushID(leaf.leaf);
    begin_card(context.look, "leaf",
               ImVec2(static_cast<float>(leaf.area.width), static_cast<float>(leaf.area.height)));
    const auto& tabs = std::get<LayoutLeaf>(
        context.workbench.view().layout.nodes()[static_cast<std::size_t>(leaf.leaf)]);
    draw_leaf(context, tabs);
    ImGui::EndChild();
    context.mark("leaf of " + tabs.panels.front());
    ImGui::PopID();
  }
}

void Shell::draw_splitter(PanelContext& context, const SplitterArea& splitter,
                          const LayoutPlace& place) {
  ImGui::SetCursorScreenPos(
      ImVec2(static_cast<float>(splitter.area.x), static_cast<float>(splitter.area.y)));
  ImGui::PushID(splitter.split);
  ImGui::InvisibleButton("splitter", ImVec2(static_cast<float>(splitter.area.width),
                                            static_cast<float>(splitter.area.height)));
  ImGui::PopID();
  const bool along_x = splitter.axis == SplitAxis::horizontal;
  if (ImGui::IsItemHovered() || ImGui::IsItemActive()) {
    ImGui::SetMouseCursor(along_x ? ImGuiMouseCursor_ResizeEW : ImGuiMouseCursor_ResizeNS);
    ImGui::GetWindowDrawList()->AddRectFilled(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                              packed(context.look.ui().accent));
  }
  if (!ImGui::IsItemActive()) return;
  const ImVec2 mouse = ImGui::GetMousePos();
  const double ratio =
      dragged_ratio(context.workbench.view().layout,
                    {.split = splitter.split,
                     .position = whole(along_x ? mouse.x : mouse.y) - place.metrics.splitter / 2,
                     .area = place.area,
                     .metrics = place.metrics});
  context.emit("layout.ratio", fmt::format("{} {:.0f}", splitter.split, ratio * 1000));
}

void Shell::draw_layout(PanelContext& context, float height) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const LayoutPlace place{
      .area = {whole(at.x), whole(at.y), whole(ImGui::GetContentRegionAvail().x), whole(height)},
      .metrics = {.splitter = whole(context.look.px(5)),
                  .min_leaf = {whole(context.look.px(140)), whole(context.look.px(80))}}};
  const LayoutAreas areas =
      place_layout(context.workbench.view().layout, place.area, place.metrics);
  draw_leaves(context, areas);
  for (const SplitterArea& splitter : areas.splitters) draw_splitter(context, splitter, place);
  tab_drag_.draw(context, areas);
}

// Before one of a plan's runs is open, the plan has the whole window.
void Shell::draw_plan_alone(PanelContext& context, float height) {
  begin_card(context.look, "plan", ImVec2(0, height));
  draw_body(context, "plan");
  ImGui::EndChild();
}

void Shell::draw_notice(PanelContext& context) {
  const Workbench& workbench = context.workbench;
  if (const FileJob* job = workbench.job()) draw_progress(context, *job);
  const Notice& notice = workbench.notice();
  const UiColours& ui = context.look.ui();
  const Rgba colour = notice.kind == NoticeKind::error     ? ui.error
                      : notice.kind == NoticeKind::warning ? ui.warning
                                                           : ui.text_dim;
  const TextColour scope(colour);
  const std::string text = notice.text.substr(0, notice.text.find('\n'));
  ImGui::TextUnformatted(text.c_str());
  if (ImGui::IsItemHovered() && !notice.text.empty()) {
    const FontScope fixed(context.look.fonts.fixed);
    tooltip(notice.text);
  }
}

// A dialog with a fault is closed; the next one starts fresh.
void Shell::draw_dialogs(PanelContext& context) {
  if (dialogs_guard_.draw(context.workbench, [&] { dialogs_.draw(context); })) return;
  dialogs_ = Dialogs();
  dialogs_guard_ = FaultGuard();
  context.emit("view.close_dialog");
}

void Shell::draw(PanelContext& context) {
  const ImGuiViewport& viewport = *ImGui::GetMainViewport();
  ImGui::SetNextWindowPos(viewport.Pos);
  ImGui::SetNextWindowSize(viewport.Size);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0F);
  ImGui::Begin("workbench", nullptr, kWholeWindow);
  ImGui::PopStyleVar();
  menus_guard_.draw(context.workbench, [&] { draw_menus(context); });
  if (!context.workbench.banner().empty()) draw_banner(context);
  const float notice = ImGui::GetTextLineHeightWithSpacing();
  content_guard_.draw(context.workbench, [&] {
    const auto height = [&] { return ImGui::GetContentRegionAvail().y - notice; };
    if (context.workbench.attached() != nullptr) {
      draw_attached_bar(context);
      if (context.workbench.run() == nullptr) return draw_waiting(context);
    }
    if (context.workbench.run() == nullptr)
      return context.workbench.plan_results() == nullptr ? draw_start_screen(context, height())
                                                         : draw_plan_alone(context, height());
    run_bar_.draw(context);
    draw_layout(context, height());
  });
  ImGui::SetCursorPosY(ImGui::GetWindowHeight() - notice - ImGui::GetStyle().WindowPadding.y / 2);
  draw_notice(context);
  ImGui::End();
  draw_dialogs(context);
  handle_keys(context);
}

}  // namespace hybridscope
