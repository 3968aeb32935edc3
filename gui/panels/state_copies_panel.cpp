#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/conv_drawing.h"
#include "gui/model/state_copies_model.h"
#include "gui/table_view.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kLeastDetails = 150;  // points high; a smaller panel scrolls as a whole

class StateCopiesPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Shown& shown = shown_.get(context.workbench, [&] {
      Workbench& workbench = context.workbench;
      Shown made{make_state_copies_model(*workbench.run(), workbench.selection()), {}};
      made.picture = state_copies_picture(made.model, workbench);
      return made;
    });
    const StateCopiesModel& model = shown.model;
    if (model.rows.empty()) {
      wrapped_dim_text(context.look, model.empty);
      return;
    }
    draw_list(context, shown.picture.tables.front());
    const float room = std::max(ImGui::GetContentRegionAvail().y, context.look.px(kLeastDetails));
    ImGui::BeginChild(
        "details", ImVec2(0, room), false,
        ImGuiWindowFlags_AlwaysVerticalScrollbar |
            (is_wide(context.look, model) ? ImGuiWindowFlags_HorizontalScrollbar : 0));
    // What differs from the other run comes first.
    for (const bool differing : {true, false})
      for (std::size_t i = 0; i < model.details.size(); ++i) {
        if (differs_in(context.workbench, model.name, model.details[i].moment) != differing)
          continue;
        ImGui::PushID(static_cast<int>(i));
        draw_detail(context, model, model.details[i]);
        ImGui::PopID();
      }
    if (!model.details.empty()) {
      draw_state_legend(context.look, LegendShape::lines, SamplePlace::first);
      wrapped_dim_text(context.look, kFormulaLetters);
    }
    ImGui::EndChild();
  }

 private:
  // Texts wrap at the edge of a panel unless a drawing needs more room than there is.
  static bool is_wide(const Look& look, const StateCopiesModel& model) {
    const float room = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
    return std::ranges::any_of(model.details, [&](const StateCopyDetail& detail) {
      return detail.drawing && std::max(copy_columns_width(look, *detail.drawing),
                                        conv_copy_width(look, *detail.drawing)) > room;
    });
  }

  // As high as its rows, but no higher than two fifths of the panel.
  void draw_list(PanelContext& context, const Table& table) {
    dim_text(context.look, table.note);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float most = std::max(std::floor(room.y * 0.4F), table_header_height() * 3);
    const float drawn = table_.drawn_height();
    const float height = drawn > 0 ? std::min(drawn, most) : most;
    table_.draw(context, table, {.id = "decisions", .size = ImVec2(room.x, height)});
    context.mark("copy decisions");
  }

  void draw_detail(PanelContext& context, const StateCopiesModel& model,
                   const StateCopyDetail& detail) {
    const Look& look = context.look;
    heading(look, fit_middle(look.fonts.bold, model.name,
                             ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize));
    flow(ImGui::CalcTextSize(detail.title.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
    ImGui::TextUnformatted(detail.title.c_str());
    context.mark(fmt::format("detail {}", copy_moment_name(detail.moment)));
    for (const BlockCopyDrawing& copy : detail.block_copies) {
      dim_text(look, copy.group_name);
      draw_block_copy(context, copy);
      wrapped_text(copy.words);
    }
    if (detail.drawing) {
      const std::string& group = detail.drawing->group_name;
      flow(ImGui::CalcTextSize(group.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
      dim_text(look, group);
      tooltip("Columns and blocks are those of the worker's block table");
      for (const std::string& fault : detail.drawing->faults) {
        const TextColour colour(look.ui().error);
        wrapped_text("Wrong: " + fault);
      }
      const float room = ImGui::GetContentRegionAvail().x;
      draw_copy_columns(context, *detail.drawing, model.name);
      if (detail.drawing->has_conv) draw_window(look, *detail.drawing, room);
      if (!detail.drawing->note.empty()) wrapped_dim_text(look, detail.drawing->note);
    }
    {
      const FontScope fixed(look.fonts.fixed);
      for (const std::string& term : detail.formula) wrapped_text(term);
    }
    wrapped_dim_text(look, detail.source);
    ImGui::Dummy(ImVec2(0, look.px(8)));
  }

  // Beside the columns where there is room.
  static void draw_window(const Look& look, const StateCopyDrawing& drawing, float room) {
    if (copy_columns_width(look, drawing) + conv_copy_width(look, drawing) < room - look.px(16))
      ImGui::SameLine(0, look.px(16));
    draw_conv_copy(look, drawing);
    draw_conv_legend(look, drawing);
    wrapped_dim_text(look, fmt::format("Numbers are token numbers from 1. Framed: the last W - 1 "
                                       "tokens of S({}). Position {} + i goes to position i.",
                                       drawing.num_tokens, drawing.conv.bias));
  }

  struct Shown {
    StateCopiesModel model;
    Picture picture;
  };
  Cached<Shown> shown_;
  TableView table_;
};

}  // namespace

std::unique_ptr<Panel> make_state_copies_panel() { return std::make_unique<StateCopiesPanel>(); }

}  // namespace hybridscope
