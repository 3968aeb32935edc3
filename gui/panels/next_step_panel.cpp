#include "gui/panels/panels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "gui/model/command_table.h"
#include "gui/model/next_step_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

class NextStepPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const NextStepModel& model =
        model_.get(context.workbench, [&] { return make_next_step_model(context.workbench); });
    if (!model.why_not.empty()) {
      wrapped_dim_text(context.look, model.why_not);
      return;
    }
    draw_history(context, model);
    draw_planned(context, model);
    draw_coming(context, model);
    draw_requests(context, model);
    draw_new_request(context);
    draw_whole_step(context, model);
    draw_policies(context, model);
  }

 private:
  static void draw_history(PanelContext& context, const NextStepModel& model) {
    heading(context.look, fmt::format("Step {}", model.step),
            "each change makes a fork of the run from here on");
    history_button(context, "Undo", "edit.undo", model.undo);
    ImGui::SameLine();
    history_button(context, "Redo", "edit.redo", model.redo);
  }

  static void draw_planned(PanelContext& context, const NextStepModel& model) {
    ImGui::Spacing();
    const std::string title = fmt::format("Planned for step {}", model.step);
    if (model.planned.words.empty()) {
      heading(context.look, title, "nothing: neither the script nor an edit says anything of it");
      return;
    }
    heading(context.look, title, "by the script and by edits");
    wrapped_text(fmt::format("{}", fmt::join(model.planned.words, "; ")));
    context.mark("planned");
    ImGui::Spacing();
  }

  static void draw_coming(PanelContext& context, const NextStepModel& model) {
    heading(context.look, "If you just step", "nothing is changed");
    for (const std::string& line : model.coming) wrapped_text(line);
    context.mark("coming");
    ImGui::Spacing();
  }

  static void history_button(PanelContext& context, const char* label, const char* command,
                             const std::string& words) {
    ImGui::BeginDisabled(words.empty());
    if (ImGui::Button(label)) context.emit(command);
    context.mark(command);
    ImGui::EndDisabled();
    if (!words.empty()) tooltip(words);
  }

  static void draw_requests(PanelContext& context, const NextStepModel& model) {
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg;
    constexpr std::array<ColumnWords, 3> kColumns = {{
        {"Request"},
        {"Accepted", "So many tokens come out of its next verify step, the bonus token included"},
        {"Take it out", "Preempt: it gives its blocks back and waits. Abort: it ends"},
    }};
    if (model.requests.empty()) {
      dim_text(context.look, "No request is there.");
      return;
    }
    if (!ImGui::BeginTable("requests", 3, kFlags)) return;
    for (std::size_t i = 0; i < kColumns.size(); ++i)
      ImGui::TableSetupColumn(kColumns[i].title.data(),
                              i == 1 ? ImGuiTableColumnFlags_WidthStretch : 0,
                              i == 0 ? context.look.px(90) : 0);
    table_headers(kColumns);
    for (const EditableRequest& request : model.requests) {
      ImGui::PushID(request.request.value);
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      ImGui::AlignTextToFramePadding();
      fitted_text(request.name);
      ImGui::TableNextColumn();
      for (std::int32_t count = 1; count <= request.max_num_accepted_tokens; ++count) {
        const std::string label = fmt::format("{}", count);
        if (count > 1) flow(button_width(label.c_str()), context.look.px(3));
        if (toggle(context.look, label.c_str(), request.accepts == count))
          context.edit("edit.accept", {.changes = {.accept = {{request.name, count}}}});
        context.mark(fmt::format("accept {} {}", request.name, count));
      }
      ImGui::TableNextColumn();
      if (toggle(context.look, "Preempt", request.preempted))
        context.edit("edit.preempt", {.changes = {.preempt = {request.name}}});
      context.mark("preempt " + request.name);
      ImGui::SameLine(0, context.look.px(3));
      if (toggle(context.look, "Abort", request.aborted))
        context.edit("edit.abort", {.changes = {.abort = {request.name}}});
      ImGui::PopID();
    }
    ImGui::EndTable();
  }

  void draw_new_request(PanelContext& context) {
    ImGui::Spacing();
    heading(context.look, "Add a request");
    ImGui::SetNextItemWidth(context.look.px(90));
    ImGui::InputTextWithHint("##name", "name", name_.data(), name_.size());
    flow_number(context.look, "prompt tokens", prompt_);
    flow_number(context.look, "max_tokens", max_tokens_);
    flow(button_width("Add"), ImGui::GetStyle().ItemSpacing.x);
    ImGui::BeginDisabled(name_.front() == '\0');
    if (ImGui::Button("Add"))
      context.edit("edit.add_request", {.requests = {{.id = name_.data(),
                                                      .prompt = {.tokens = prompt_},
                                                      .max_tokens = max_tokens_}}});
    ImGui::EndDisabled();
  }

  void draw_whole_step(PanelContext& context, const NextStepModel& model) {
    // What was typed stays until another budget is planned.
    if (model.planned.budget != planned_budget_) wanted_budget_ = model.planned.budget;
    planned_budget_ = model.planned.budget;
    ImGui::Spacing();
    heading(context.look, "The whole step");
    ImGui::SetNextItemWidth(context.look.px(90));
    ImGui::InputInt("tokens of budget", &wanted_budget_, 0);
    ImGui::SameLine();
    if (ImGui::Button("Set##budget"))
      context.edit("edit.budget", {.changes = {.budget = wanted_budget_}});
    const PrefixCacheReset reset = model.planned.script.reset_prefix_cache;
    if (toggle(context.look, "Reset the prefix cache", reset == PrefixCacheReset::unless_running))
      context.edit("edit.reset_prefix_cache",
                   {.changes = {.reset_prefix_cache = PrefixCacheReset::unless_running}});
    tooltip("Done only if no request runs, as the engine does it");
    if (flow_toggle(context.look, "Preempt all and reset it",
                    reset == PrefixCacheReset::preempting_running))
      context.edit("edit.reset_prefix_cache_now",
                   {.changes = {.reset_prefix_cache = PrefixCacheReset::preempting_running}});
    draw_profile(context, model);
    if (flow_button("No script from here on"))
      context.edit("edit.drop_script", {.drop_script = true});
    tooltip("What the scenario scripts for later steps is dropped");
    if (!model.profile_note.empty()) wrapped_dim_text(context.look, model.profile_note + ".");
  }

  static void draw_profile(PanelContext& context, const NextStepModel& model) {
    ImGui::SetNextItemWidth(context.look.px(130));
    const bool open = ImGui::BeginCombo("engine profile", model.profile.c_str());
    context.mark("engine profile");
    if (!open) {
      tooltip(
          "From this step on. safe: the invariants hold; reference: what the reference does, "
          "faults included; a release: what that release of vLLM does");
      return;
    }
    for (const EditableProfile& offered : model.profiles) {
      if (ImGui::Selectable(offered.name.c_str(), offered.name == model.profile))
        context.edit("edit.engine", {.changes = {.engine = offered.profile}});
      context.mark("profile " + offered.name);
    }
    ImGui::EndCombo();
  }

  static bool flow_toggle(const Look& look, const char* label, bool on) {
    flow(button_width(label), ImGui::GetStyle().ItemSpacing.x);
    return toggle(look, label, on);
  }
  static bool flow_button(const char* label) {
    flow(button_width(label), ImGui::GetStyle().ItemSpacing.x);
    return ImGui::Button(label);
  }
  static void flow_number(const Look& look, const char* label, int& number) {
    const ImGuiStyle& style = ImGui::GetStyle();
    const float width = look.px(70);
    flow(width + style.ItemInnerSpacing.x + ImGui::CalcTextSize(label).x, style.ItemSpacing.x);
    ImGui::SetNextItemWidth(width);
    ImGui::InputInt(label, &number, 0);
  }

  static void draw_policies(PanelContext& context, const NextStepModel& model) {
    ImGui::Spacing();
    if (!ImGui::CollapsingHeader("Policies from this step on")) return;
    for (const EditablePolicy& policy : model.policies) {
      const std::string name(policy.name);
      ImGui::SetNextItemWidth(context.look.px(220));
      if (ImGui::BeginCombo(name.c_str(),
                            policy.value.empty() ? "as the profile says" : policy.value.c_str())) {
        for (std::size_t i = 0; i < policy.values.size(); ++i)
          if (ImGui::Selectable(std::string(policy.values[i]).c_str(),
                                policy.values[i] == policy.value))
            context.edit("edit.policy", {.changes = {.policies = policy.with_value(i)}});
        ImGui::EndCombo();
      }
      tooltip(policy.help);
    }
  }

  Cached<NextStepModel> model_;
  std::array<char, 64> name_{};
  int prompt_ = 16;
  int max_tokens_ = 8;
  int wanted_budget_ = 0;
  std::int32_t planned_budget_ = 0;
};

}  // namespace

std::unique_ptr<Panel> make_next_step_panel() { return std::make_unique<NextStepPanel>(); }

}  // namespace hybridscope
