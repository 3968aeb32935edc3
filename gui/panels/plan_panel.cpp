
#include <algorithm>
#include <optional>

#include "gui/model/plan_model.h"
#include "gui/panels/panels.h"
#include "gui/panels/plan_pictures.h"
#include "gui/table_view.h"
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
    if (!model.overload.empty()) wrapped_text(model.overload);
    wrapped_text(model.heading);
    draw_goals(context, model);
    draw_recommended(context, model);
    if (!model.dots.empty()) draw_pictures(context, model);
    if (model.table.rows.empty())
      wrapped_text("No combination ran.");
    else
      draw_table(context, model);
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
    const Look& look = context.look;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const auto draw_sign = [&](std::size_t row, ImVec2 at) {
      if (model.marks[row] == PlanMark::other) return;
      const ImVec2 centre(at.x + look.px(9), at.y + ImGui::GetTextLineHeight() / 2);
      draw_plan_sign(*ImGui::GetWindowDrawList(), look, centre, model.marks[row]);
    };
    table_.draw(context, model.table,
                {.id = "combinations",
                 .size = ImVec2(room.x, std::max(room.y, look.px(kLeastPlanTable))),
                 .sign = draw_sign});
  }

  bool shows_reasons(const Look& look) const {
    return shows_reasons_.value_or(ImGui::GetWindowHeight() > look.px(kRoomForReasons));
  }

  Cached<PlanModel> model_;
  TableView table_;
  std::optional<bool> shows_reasons_;  // absent: where there is room
};

}  // namespace

std::unique_ptr<Panel> make_plan_panel() { return std::make_unique<PlanPanel>(); }

}  // namespace hybridscope
