#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "gui/widgets.h"
#include "sessions/lessons/lesson.h"

namespace hybridscope {
namespace {

constexpr float kLeastPart = 110;  // points; where there is less room, the whole panel scrolls

class LessonPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    if (context.workbench.lesson() == nullptr) {
      draw_choice(context);
      return;
    }
    const LessonSession& session = *context.workbench.lesson();
    draw_head(context, session);
    const float room = ImGui::GetContentRegionAvail().y;
    ImGui::BeginChild("part", ImVec2(0, std::max(room, context.look.px(kLeastPart))));
    for (const std::string& paragraph : session.part().text) {
      wrapped_text(paragraph);
      ImGui::Spacing();
    }
    if (session.part().predict && !session.part_is_answered())
      wrapped_dim_text(context.look, "The step is shown when all questions are answered.");
    fields_.resize(std::max(fields_.size(), session.part().questions.size()));
    if (part_ != session.part_index()) {
      for (auto& field : fields_) field.front() = '\0';
      part_ = session.part_index();
    }
    for (std::size_t i = 0; i < session.part().questions.size(); ++i)
      draw_question(context, session, i);
    ImGui::EndChild();
  }

 private:
  static void draw_choice(PanelContext& context) {
    dim_text(context.look, kNoLesson);
    for (const std::string_view name : shipped_lesson_names()) {
      const std::string label(name);
      if (ImGui::Selectable(label.c_str())) context.emit("lesson.open", label);
    }
  }

  static void draw_head(PanelContext& context, const LessonSession& session) {
    heading(context.look, session.lesson().title, "");
    wrapped_dim_text(context.look, progress_words(session));
    ImGui::BeginDisabled(session.part_index() == 0);
    if (ImGui::Button("Back")) context.emit("lesson.previous");
    context.mark("lesson previous");
    ImGui::EndDisabled();
    const bool last = session.part_index() + 1 == session.lesson().parts.size();
    const char* const next = last ? "Finish" : "Next part";
    flow(button_width(next), ImGui::GetStyle().ItemSpacing.x);
    if (toggle(context.look, next, session.part_is_answered())) context.emit("lesson.next");
    context.mark("lesson next");
    flow(button_width("End the lesson"), ImGui::GetStyle().ItemSpacing.x);
    if (ImGui::Button("End the lesson")) context.emit("lesson.close");
    ImGui::Separator();
  }

  void draw_question(PanelContext& context, const LessonSession& session, std::size_t index) {
    const LessonQuestion& question = session.part().questions[index];
    const TakenQuestion& taken = session.taken()[index];
    ImGui::PushID(static_cast<int>(index));
    ImGui::Spacing();
    {
      const FontScope bold(context.look.fonts.bold);
      wrapped_text(fmt::format("{}. {}", index + 1, question.ask));
    }
    const auto answer = [&](const std::string& text) {
      context.emit("lesson.answer", fmt::format("{} {}", index + 1, text));
    };
    const std::vector<std::string> offered = offered_answers(question);
    if (!offered.empty()) {
      for (const std::string& choice : offered) {
        if (&choice != &offered.front()) flow(button_width(choice.c_str()), context.look.px(4));
        if (ImGui::Button(choice.c_str())) answer(choice);
        context.mark(fmt::format("answer {} {}", index + 1, choice));
      }
    } else {
      std::array<char, 64>& field = fields_[index];
      ImGui::SetNextItemWidth(context.look.px(140));
      const bool entered = ImGui::InputText("##answer", field.data(), field.size(),
                                            ImGuiInputTextFlags_EnterReturnsTrue);
      context.mark(fmt::format("answer {}", index + 1));
      flow(button_width("Answer"), ImGui::GetStyle().ItemSpacing.x);
      const bool pressed = ImGui::Button("Answer");
      if ((entered || pressed) && field.front() != '\0') answer(field.data());
    }
    if (!taken.words.empty()) {
      const UiColours& ui = context.look.ui();
      const TextColour colour(taken.verdict == AnswerVerdict::right   ? ui.ok
                              : taken.verdict == AnswerVerdict::wrong ? ui.error
                                                                      : ui.warning);
      wrapped_text(taken.words);
    }
    ImGui::PopID();
  }

  std::size_t part_ = 0;
  std::vector<std::array<char, 64>> fields_;  // [questions]
};

}  // namespace

std::unique_ptr<Panel> make_lesson_panel() { return std::make_unique<LessonPanel>(); }

}  // namespace hybridscope
