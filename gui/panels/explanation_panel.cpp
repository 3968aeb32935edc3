#include "gui/panels/panels.h"

#include "gui/widgets.h"

namespace hybridscope {
namespace {

class ExplanationPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const std::string& text =
        text_.get(context.workbench, [&] { return step_in_words(*context.workbench.run()); });
    const FontScope fixed(context.look.fonts.fixed);
    ImGui::BeginChild("text", ImVec2(0, 0), false, ImGuiWindowFlags_HorizontalScrollbar);
    ImGui::TextUnformatted(text.data(), text.data() + text.size());
    ImGui::EndChild();
  }

 private:
  Cached<std::string> text_;
};

}  // namespace

std::unique_ptr<Panel> make_explanation_panel() { return std::make_unique<ExplanationPanel>(); }

}  // namespace hybridscope
