#include "gui/panels/panels.h"

#include <algorithm>

#include "gui/model/wrapped_words.h"
#include "gui/widgets.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

// Sentences and tables in a font of fixed width: the smaller one where a line does not fit, and
// then lines are wrapped.
class ExplanationPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const std::string& text =
        text_.get(context.workbench, [&] { return step_in_words(*context.workbench.run()); });
    ImGui::BeginChild("text", ImVec2(0, 0), false, ImGuiWindowFlags_AlwaysVerticalScrollbar);
    const Fonts& fonts = context.look.fonts;
    draw_text(context.workbench, text,
              columns_of(fonts.fixed) >= kPageColumns ? fonts.fixed : fonts.small);
    ImGui::EndChild();
  }

 private:
  void draw_text(const Workbench& workbench, const std::string& text, ImFont* font) {
    const FontScope fixed(font);
    wrap(workbench, text, columns_of(font));
    ImGui::TextUnformatted(wrapped_.data(), wrapped_.data() + wrapped_.size());
  }

  static std::size_t columns_of(ImFont* font) {
    const float room = ImGui::GetContentRegionAvail().x;
    return static_cast<std::size_t>(std::max(room / text_width(font, "m"), 1.0F));
  }

  void wrap(const Workbench& workbench, const std::string& text, std::size_t columns) {
    if (columns == columns_ && workbench.revision() == revision_) return;
    columns_ = columns;
    revision_ = workbench.revision();
    wrapped_ = wrap_lines(text, columns);
  }

  Cached<std::string> text_;
  std::string wrapped_;
  std::size_t columns_ = 0;  // of `wrapped_`
  std::uint64_t revision_ = 0;
};

}  // namespace

std::unique_ptr<Panel> make_explanation_panel() { return std::make_unique<ExplanationPanel>(); }

}  // namespace hybridscope
