#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/conv_drawing.h"
#include "gui/copy_drawing.h"
#include "gui/model/command_arguments.h"
#include "gui/model/state_copies_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostListRows = 6;
constexpr float kLeastDetails = 150;  // points high; a smaller panel scrolls as a whole

class StateCopiesPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const StateCopiesModel& model = model_.get(context.workbench, [&] {
      return make_state_copies_model(*context.workbench.run(), context.workbench.selection());
    });
    if (model.rows.empty()) {
      wrapped_dim_text(context.look, model.empty);
      return;
    }
    dim_text(context.look, decisions_words(model));
    draw_list(context, model);
    const float room = std::max(ImGui::GetContentRegionAvail().y, context.look.px(kLeastDetails));
    ImGui::BeginChild(
        "details", ImVec2(0, room), false,
        ImGuiWindowFlags_AlwaysVerticalScrollbar |
            (is_wide(context.look, model) ? ImGuiWindowFlags_HorizontalScrollbar : 0));
    for (std::size_t i = 0; i < model.details.size(); ++i) {
      ImGui::PushID(static_cast<int>(i));
      draw_detail(context, model, model.details[i]);
      ImGui::PopID();
    }
    if (!model.details.empty()) wrapped_dim_text(context.look, kFormulaLetters);
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

  void draw_list(PanelContext& context, const StateCopiesModel& model) {
    const Look& look = context.look;
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX | ImGuiTableFlags_RowBg |
        ImGuiTableFlags_Resizable | ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_SizingFixedFit;
    const float line = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
    const float most = std::max(std::floor(ImGui::GetContentRegionAvail().y * 0.36F / line), 3.0F);
    const float shown =
        std::min(static_cast<float>(std::min(model.rows.size(), kMostListRows) + 1), most);
    const float height = line * shown + ImGui::GetStyle().ScrollbarSize + look.px(2);
    if (!ImGui::BeginTable("decisions", static_cast<int>(kCopyColumns.size()), kFlags,
                           ImVec2(0, height)))
      return;
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr std::array<float, kCopyColumns.size()> kWidths = {60, 105, 140, 70, 34, 420, 290};
    for (std::size_t i = 0; i < kCopyColumns.size(); ++i)
      ImGui::TableSetupColumn(kCopyColumns[i].title.data(), ImGuiTableColumnFlags_WidthFixed,
                              look.px(kWidths[i]));
    table_headers(kCopyColumns);
    const auto selected = std::ranges::find(model.rows, context.workbench.selection().request,
                                            &StateCopyRow::request);
    if (follower_.moves_to(context.workbench.selection().request) && selected != model.rows.end())
      scroll_to_row(selected - model.rows.begin(), line);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(model.rows.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_row(context, model, i);
    ImGui::EndTable();
  }

  void draw_row(PanelContext& context, const StateCopiesModel& model, int index) {
    const StateCopyRow& row = model.rows[static_cast<std::size_t>(index)];
    ImGui::PushID(index);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (ImGui::Selectable("##row", row.request == model.request,
                          ImGuiSelectableFlags_SpanAllColumns) &&
        row.request.value >= 0)
      context.emit("select.request", quoted_word(row.name));
    context.mark_row(fmt::format("decision {} {}", row.name, index));
    tooltip(row.in_words);
    draw_difference(context, row);
    ImGui::SameLine(0, 0);
    fitted_text(row.name);
    const TextColour colour(row.copies ? context.look.ui().text : context.look.ui().text_dim);
    table_cell(copy_moment_name(row.moment));
    table_cell(row.outcome);
    table_cell(row.columns);
    table_number(row.bias ? fmt::format("{}", *row.bias) : "-");
    table_fitted_cell(row.why);
    table_cell(row.rule);
    ImGui::PopID();
  }

  static void draw_difference(PanelContext& context, const StateCopyRow& row) {
    const DifferenceMarks* marks = context.workbench.differences();
    const RequestDifferences* of = marks != nullptr ? marks->of(row.name) : nullptr;
    if (of == nullptr) return;
    if (row.moment == CopyMoment::first) return;
    if (row.moment == CopyMoment::before_forward ? of->pre_copy : of->post_copy)
      draw_row_differs(context.look);
  }

  void draw_detail(PanelContext& context, const StateCopiesModel& model,
                   const StateCopyDetail& detail) {
    const Look& look = context.look;
    heading(look, model.name);
    flow(ImGui::CalcTextSize(detail.title.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
    ImGui::TextUnformatted(detail.title.c_str());
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

  Cached<StateCopiesModel> model_;
  SelectionFollower follower_;
};

}  // namespace

std::unique_ptr<Panel> make_state_copies_panel() { return std::make_unique<StateCopiesPanel>(); }

}  // namespace hybridscope
