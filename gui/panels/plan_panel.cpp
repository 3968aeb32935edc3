#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "gui/fitted_table.h"
#include "gui/model/plan_model.h"
#include "gui/panels/panels.h"
#include "gui/panels/plan_pictures.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kSideBySide = 700;      // pictures beside each other from this width on
constexpr float kRoomForReasons = 560;  // height
constexpr float kPictures = 220;        // height
constexpr float kLeastPlanTable = 150;

class PlanPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const ShownPlan* const plan = context.workbench.plan_results();
    if (plan == nullptr) {
      wrapped_dim_text(context.look, kNoPlan);
      return;
    }
    const PlanModel& model = model_.get(context.workbench, [&] {
      return make_plan_model(*plan, context.workbench.options().plan);
    });
    wrapped_text(model.heading);
    draw_goals(context, model);
    draw_recommended(context, model);
    if (!model.dots.empty()) draw_pictures(context, model);
    if (model.rows.empty()) wrapped_text("No combination ran.");
    if (!model.rows.empty()) draw_table(context, model);
    for (const std::string& refused : model.refused) wrapped_dim_text(context.look, refused);
  }

 private:
  static void draw_goals(PanelContext& context, const PlanModel& model) {
    ImGui::AlignTextToFramePadding();
    dim_text(context.look, "Prefer");
    tooltip("The goals that the front and the recommendation follow from; the first two are drawn");
    for (const PlanGoalChoice& choice : model.goals) {
      const std::string name(choice.goal->name);
      flow(button_width(name.c_str()), context.look.px(6));
      const bool clicked = toggle(context.look, name.c_str(), choice.chosen);
      context.mark("plan goal " + name);
      tooltip(choice.goal->words);
      if (clicked && !choice.without_or_with.empty())
        context.emit("plan.prefer", choice.without_or_with);
    }
  }

  void draw_recommended(PanelContext& context, const PlanModel& model) {
    const Look& look = context.look;
    if (!model.recommended.empty()) {
      const FontScope bold(look.fonts.bold);
      wrapped_text(look.ui().accent, "Recommended: " + model.recommended);
    }
    if (!model.reasons.empty()) {
      const bool clicked = ImGui::SmallButton(shows_reasons(look) ? "Hide why" : "Why?");
      context.mark("plan why");
      if (clicked) shows_reasons_ = !shows_reasons(look);
      ImGui::SameLine();
    }
    ImGui::BeginDisabled(!model.can_open);
    if (ImGui::SmallButton("Open at its worst step")) context.emit("plan.run", "worst");
    ImGui::EndDisabled();
    context.mark("plan open");
    tooltip("Runs the selected combination to the step with the fewest free blocks");
    ImGui::SameLine();
    fitted_name(model.selected.empty() ? "nothing is selected" : "selected: " + model.selected);
    if (shows_reasons(look))
      for (const std::string& reason : model.reasons) wrapped_dim_text(look, reason);
  }

  static void draw_pictures(PanelContext& context, const PlanModel& model) {
    const float gap = context.look.px(16);
    const float width = ImGui::GetContentRegionAvail().x;
    const float height = context.look.px(kPictures);
    if (width < context.look.px(kSideBySide)) {
      draw_plan_scatter(context, model, ImVec2(width, height));
      draw_plan_memory(context, model, ImVec2(width, height));
      return;
    }
    const float half = (width - gap) / 2;
    draw_plan_scatter(context, model, ImVec2(half, height));
    ImGui::SameLine(0, gap);
    draw_plan_memory(context, model, ImVec2(half, height));
  }

  void draw_table(PanelContext& context, const PlanModel& model) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const FittedTable::Shape shape{
        .id = "combinations",
        .columns = model.columns,
        .num_frozen = 1,
        .rows = model.rows.size(),
        .size = ImVec2(room.x, std::max(room.y, context.look.px(kLeastPlanTable))),
        .headers = context.look.fonts.bold,
        .numbers = context.look.fonts.fixed,
        .marked = sorted_column(context, model)};
    table_.measure(context, shape, [&](std::size_t row, std::size_t column) {
      return column == 0 ? std::string_view("##")
                         : std::string_view(model.rows[row].cells[column].text);
    });
    if (!table_.begin(shape)) return;
    draw_headers(context, model, shape.marked);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(model.rows.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        draw_row(context, model, model.rows[static_cast<std::size_t>(i)]);
    ImGui::EndTable();
  }

  static int sorted_column(const PanelContext& context, const PlanModel& model) {
    const std::string& sort = context.workbench.options().plan.sort;
    const auto found = std::ranges::find(model.columns, sort, &ColumnWords::title);
    return found == model.columns.end() ? 0 : static_cast<int>(found - model.columns.begin());
  }

  static void draw_headers(PanelContext& context, const PlanModel& model, int sorted) {
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    const FontScope bold(context.look.fonts.bold);
    for (std::size_t i = 0; i < model.columns.size(); ++i) {
      ImGui::TableNextColumn();
      const bool is_sorted = static_cast<int>(i) == sorted;
      const std::string order = context.workbench.options().plan.descending ? "-" : "+";
      const std::string name(model.columns[i].title);
      const std::string title = !is_sorted ? name : name.empty() ? order : name + " " + order;
      ImGui::PushID(static_cast<int>(i));
      const TextColour colour(is_sorted ? context.look.ui().accent : context.look.ui().text);
      if (ImGui::Selectable((title + "##sort").c_str()))
        context.emit("plan.sort", i == 0 ? "rank" : name);
      context.mark("plan sort " + (i == 0 ? "rank" : name));
      ImGui::PopID();
      tooltip(model.columns[i].help);
    }
  }

  static void draw_row(PanelContext& context, const PlanModel& model, const PlanRow& row) {
    const Look& look = context.look;
    ImGui::PushID(static_cast<int>(row.result));
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    constexpr ImGuiSelectableFlags kFlags =
        ImGuiSelectableFlags_SpanAllColumns | ImGuiSelectableFlags_AllowDoubleClick;
    if (ImGui::Selectable("##row", row.name == model.selected, kFlags)) {
      context.emit("plan.select", row.name);
      if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) context.emit("plan.run", "worst");
    }
    context.mark_row("plan row " + row.name);
    const std::string_view mark = plan_mark_words(row.mark);
    tooltip(mark.empty() ? row.name : fmt::format("{}\n{}", row.name, mark));
    if (row.mark != PlanMark::other)
      draw_plan_sign(*ImGui::GetWindowDrawList(), look,
                     ImVec2(at.x + look.px(9), at.y + ImGui::GetTextLineHeight() / 2), row.mark);
    for (std::size_t i = 1; i < row.cells.size(); ++i) {
      const bool is_number = model.columns[i].kind == ColumnKind::number;
      const FontScope font(is_number ? look.fonts.fixed : look.fonts.words);
      table_cell(model.columns[i].kind, row.cells[i].text);
    }
    ImGui::PopID();
  }

  bool shows_reasons(const Look& look) const {
    return shows_reasons_.value_or(ImGui::GetWindowHeight() > look.px(kRoomForReasons));
  }

  Cached<PlanModel> model_;
  FittedTable table_;
  std::optional<bool> shows_reasons_;  // absent: where there is room
};

}  // namespace

std::unique_ptr<Panel> make_plan_panel() { return std::make_unique<PlanPanel>(); }

}  // namespace hybridscope
