#include "gui/panels/panels.h"

#include <algorithm>

#include "gui/model/batch_rows_model.h"
#include "gui/table_view.h"
#include "gui/token_strip.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kLeastLines = 3;  // of the table; a smaller panel scrolls as a whole

class BatchRowsPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Shown& shown = shown_.get(context.workbench, [&] {
      Workbench& workbench = context.workbench;
      Shown made{make_batch_rows_model(*workbench.run(), workbench.selection()), {}};
      made.picture = batch_rows_picture(made.model, workbench);
      return made;
    });
    const BatchRowsModel& model = shown.model;
    const Look& look = context.look;
    if (model.rows.empty()) {
      wrapped_dim_text(look, model.empty);
      return;
    }
    draw_token_axis(context, model);
    const float lines = std::min(static_cast<float>(model.rows.size()) + 1, kLeastLines);
    draw_words(look, batch_words(model, *context.workbench.run()), lines);
    context.mark("batch words");
    if (!model.counts.empty()) draw_words(look, model.counts, lines);
    const ImVec2 room = ImGui::GetContentRegionAvail();
    table_.draw(context, shown.picture.tables.front(),
                {.id = "rows",
                 .size = ImVec2(room.x, std::max(room.y, table_header_height() * kLeastLines))});
  }

 private:
  // On one line if that, and only that, leaves room for so many lines of the table.
  static void draw_words(const Look& look, const std::string& words, float lines) {
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float table = lines * table_header_height();
    if (room.y - wrapped_height(words, room.x) >= table ||
        room.y - ImGui::GetTextLineHeight() < table)
      return wrapped_dim_text(look, words);
    const TextColour dim(look.ui().text_dim);
    fitted_text(words);
  }

  struct Shown {
    BatchRowsModel model;
    Picture picture;
  };
  Cached<Shown> shown_;
  TableView table_;
};

}  // namespace

std::unique_ptr<Panel> make_batch_rows_panel() { return std::make_unique<BatchRowsPanel>(); }

}  // namespace hybridscope
