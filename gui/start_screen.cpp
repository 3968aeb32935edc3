#include "gui/start_screen.h"

#include <algorithm>

#include "gui/model/command_table.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// One thing to open: its title, and what it teaches below it.
void draw_entry(PanelContext& context, const char* command, const StartEntry& entry, int index) {
  const Look& look = context.look;
  ImGui::PushID(index);
  const float width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  const std::string& below = entry.teaches.empty() ? entry.path : entry.teaches;
  const float room = width - look.px(16);
  ImFont* bold = look.fonts.bold;
  std::string title;
  {
    const FontScope scope(bold);
    title = wrap_text(entry.title, room);
  }
  const float title_height = bold->CalcTextSizeA(bold->FontSize, FLT_MAX, 0, title.c_str()).y;
  const std::string words = wrap_text(below, room);
  const float height = title_height + ImGui::CalcTextSize(words.c_str()).y + look.px(12);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (ImGui::InvisibleButton("entry", ImVec2(width, height))) context.emit(command, entry.path);
  context.mark("open " + entry.title);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  if (ImGui::IsItemHovered())
    list.AddRectFilled(at, ImVec2(at.x + width, at.y + height), packed(look.ui().hover),
                       look.px(4));
  const float x = at.x + look.px(8);
  list.AddText(bold, bold->FontSize, ImVec2(x, at.y + look.px(4)), packed(look.ui().text),
               title.c_str());
  list.AddText(look.fonts.words, look.fonts.words->FontSize,
               ImVec2(x, at.y + look.px(6) + title_height), packed(look.ui().text_dim),
               words.c_str());
  ImGui::PopID();
}

struct StartList {
  const char* title;
  const char* command;  // takes an entry's path as its argument
  const char* empty;    // shown if there are none
};

void draw_list(PanelContext& context, const StartList& list, const std::vector<StartEntry>& entries,
               float width) {
  begin_card(context.look, list.title, ImVec2(width, 0));
  heading(context.look, list.title);
  ImGui::Spacing();
  ImGui::BeginChild("entries");
  if (entries.empty()) wrapped_dim_text(context.look, list.empty);
  for (std::size_t i = 0; i < entries.size(); ++i)
    draw_entry(context, list.command, entries[i], static_cast<int>(i));
  ImGui::EndChild();
  ImGui::EndChild();
}

}  // namespace

void draw_start_screen(PanelContext& context, float height) {
  const StartScreen& start = context.workbench.start();
  const Look& look = context.look;
  ImGui::BeginChild("start", ImVec2(0, height));
  ImGui::Dummy(ImVec2(0, look.px(6)));
  heading(look, "hybridscope",
          "step the state caching of hybrid language models, and see what every block holds");
  ImGui::Spacing();
  if (ImGui::Button("Open a file...")) context.emit("file.open");
  context.mark("open a file");
  tooltip(
      "A scenario (.json), a recorded session (.db, .db:NAME), a trace or traffic (.jsonl) "
      "(Ctrl+O)");
  ImGui::SameLine();
  if (ImGui::Button("Find a command...")) context.emit("help.palette");
  tooltip("F1 or Ctrl+Shift+P");
  ImGui::SameLine();
  if (ImGui::Button("Keys")) context.emit("help.keys");
  ImGui::Spacing();
  const float width = ImGui::GetContentRegionAvail().x;
  const float gap = ImGui::GetStyle().ItemSpacing.x;
  draw_list(context, {"Lessons", "lesson.open", "There are none."}, start.lessons,
            (width - 3 * gap) * 0.25F);
  ImGui::SameLine();
  draw_list(context, {"Scenarios", "file.open", "There are none."}, start.scenarios,
            (width - 3 * gap) * 0.29F);
  ImGui::SameLine();
  draw_list(context, {"Known bugs", "bug.open", "There are none."}, start.known_bugs,
            (width - 3 * gap) * 0.27F);
  ImGui::SameLine();
  draw_list(context,
            {"Recent files", "file.open", "Files that you open are listed here the next time."},
            start.recent, 0);
  ImGui::EndChild();
}

}  // namespace hybridscope
