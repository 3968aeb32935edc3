#include "gui/panels/panels.h"

#include <algorithm>
#include <utility>

#include "gui/model/word_wrap.h"
#include "gui/widgets.h"
#include "sessions/text/text_page.h"

namespace hybridscope {
namespace {

constexpr std::size_t kLeastColumns = 24;  // a narrower panel breaks words
constexpr std::size_t kRowsOfALargeBatch = 64;

// Sentences and tables in a font of fixed width: the smaller one where a page for a terminal does
// not fit. A narrow panel wraps sentences and the cells of tables.
class ExplanationPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    ImGui::BeginChild("text", ImVec2(0, 0), false, ImGuiWindowFlags_AlwaysVerticalScrollbar);
    const Fonts& fonts = context.look.fonts;
    draw_text(context.workbench,
              columns_of(fonts.fixed) >= kPageColumns ? fonts.fixed : fonts.small);
    ImGui::EndChild();
  }

 private:
  void draw_text(Workbench& workbench, ImFont* font) {
    const FontScope fixed(font);
    update(workbench, columns_of(font));
    ImGui::TextUnformatted(text_.data(), text_.data() + text_.size());
  }

  static std::size_t columns_of(ImFont* font) {
    const float room = ImGui::GetContentRegionAvail().x;
    return static_cast<std::size_t>(std::max(room / text_width(font, "m"), 1.0F));
  }

  void update(Workbench& workbench, std::size_t columns) {
    if (columns == columns_ && workbench.revision() == revision_) return;
    // The words of a large batch take as long as all other panels, so they come a frame later.
    const bool is_late = workbench.run()->view().trace.rows.size() >= kRowsOfALargeBatch;
    if (is_late && std::exchange(announced_, workbench.revision()) != workbench.revision()) return;
    columns_ = columns;
    revision_ = workbench.revision();
    const std::size_t page = std::clamp(columns, kLeastColumns, kPageColumns);
    text_ = wrap_lines(step_in_words(*workbench.run(), page), columns);
  }

  std::string text_;
  std::size_t columns_ = 0;  // of `text_`
  std::uint64_t revision_ = 0;
  std::uint64_t announced_ = 0;  // the last revision that a frame was drawn of
};

}  // namespace

std::unique_ptr<Panel> make_explanation_panel() { return std::make_unique<ExplanationPanel>(); }

}  // namespace hybridscope
