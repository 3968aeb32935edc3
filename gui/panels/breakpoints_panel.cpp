#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <array>

#include "gui/widgets.h"
#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {
namespace {

class BreakpointsPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    draw_field(context);
    draw_list(context);
    if (ImGui::CollapsingHeader("What can be asked")) {
      if (help_.empty()) help_ = break_help();
      const FontScope fixed(context.look.fonts.fixed);
      ImGui::TextUnformatted(help_.c_str());
    }
  }

 private:
  // A refused expression stays in the field, with the error below it.
  void draw_field(PanelContext& context) {
    ImGui::SetNextItemWidth(ImGui::GetContentRegionAvail().x - context.look.px(130));
    const bool entered = ImGui::InputTextWithHint(
        "##expression",
        "finding    copy.copies && copy.src_col==copy.dst_col    block==17 && written",
        text_.data(), text_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
    context.mark("breakpoint field");
    ImGui::SameLine();
    const bool pressed = ImGui::Button("Add");
    context.mark("breakpoint add");
    if ((entered || pressed) && text_.front() != '\0') {
      Breakpoints trial;
      const Status good = trial.add(text_.data());
      error_ = good.ok() ? std::string() : good.error().message;
      if (good.ok()) {
        context.emit("breakpoint.add", text_.data());
        text_.front() = '\0';
      }
    }
    ImGui::SameLine();
    if (ImGui::Button("Run on")) context.emit("run.to_breakpoint");
    tooltip("To the next step for which one of them holds (Ctrl+F5)");
    if (error_.empty()) return;
    const FontScope fixed(context.look.fonts.fixed);
    const TextColour colour(context.look.ui().error);
    wrapped_text(error_);
  }

  static void draw_list(PanelContext& context) {
    const auto& list = context.workbench.breakpoints().list();
    if (list.empty()) {
      wrapped_dim_text(context.look, kNoBreakpoints);
      return;
    }
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("breakpoints", 4, kFlags)) return;
    ImGui::TableSetupColumn(kBreakpointColumns[0].data());
    ImGui::TableSetupColumn(kBreakpointColumns[1].data());
    ImGui::TableSetupColumn(kBreakpointColumns[2].data(), ImGuiTableColumnFlags_WidthStretch);
    ImGui::TableSetupColumn("");
    ImGui::TableHeadersRow();
    for (std::size_t i = 0; i < list.size(); ++i) draw_row(context, list[i], i);
    ImGui::EndTable();
  }

  static void draw_row(PanelContext& context, const Breakpoint& breakpoint, std::size_t index) {
    const std::string number = fmt::format("{}", index + 1);
    ImGui::PushID(static_cast<int>(index));
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    bool enabled = breakpoint.enabled;
    if (ImGui::Checkbox("##on", &enabled)) context.emit("breakpoint.toggle", number);
    ImGui::TableNextColumn();
    ImGui::AlignTextToFramePadding();
    if (breakpoint.hits() == 0)
      dim_text(context.look, "never");
    else
      ImGui::TextUnformatted(fmt::format("{}", breakpoint.hits()).c_str());
    ImGui::TableNextColumn();
    {
      const FontScope fixed(context.look.fonts.fixed);
      ImGui::TextUnformatted(breakpoint.condition.text().c_str());
    }
    ImGui::TableNextColumn();
    if (ImGui::SmallButton("Remove")) context.emit("breakpoint.remove", number);
    ImGui::PopID();
  }

  std::array<char, 512> text_{};
  std::string error_;
  std::string help_;
};

}  // namespace

std::unique_ptr<Panel> make_breakpoints_panel() { return std::make_unique<BreakpointsPanel>(); }

}  // namespace hybridscope
