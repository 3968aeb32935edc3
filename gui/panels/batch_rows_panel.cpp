#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/cell_drawing.h"
#include "gui/fitted_table.h"
#include "gui/model/batch_rows_model.h"
#include "gui/model/command_arguments.h"
#include "gui/token_axis.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kLeastLines = 3;  // of the table; a smaller panel scrolls as a whole

class BatchRowsPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const BatchRowsModel& model = model_.get(context.workbench, [&] {
      return make_batch_rows_model(*context.workbench.run(), context.workbench.selection());
    });
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
    draw_table(context, model);
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

  void draw_table(PanelContext& context, const BatchRowsModel& model) {
    const Look& look = context.look;
    const float line = table_header_height();
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const FittedTable::Shape shape{
        .id = "rows",
        .columns = kBatchRowColumns,
        .hidden = model.has_slots ? -1 : kSlotColumn,
        .num_frozen = kBatchRequestColumn + 1,
        .rows = model.rows.size(),
        .size = ImVec2(room.x, std::max(room.y, line * kLeastLines)),
    };
    table_.measure(context, shape, [&](std::size_t row, std::size_t column) {
      return batch_row_cells(model.rows[row], row)[column];
    });
    if (!table_.begin(shape)) return;
    table_headers(kBatchRowColumns);
    const auto selected = std::ranges::find(model.rows, context.workbench.selection().request,
                                            &ShownBatchRow::request);
    if (follower_.moves_to(context.workbench.selection().request) && selected != model.rows.end())
      scroll_to_row(selected - model.rows.begin(), line);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(model.rows.size()) + (model.num_padding_rows > 0 ? 1 : 0));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        if (static_cast<std::size_t>(i) < model.rows.size())
          draw_row(context, model, i);
        else
          draw_padding(look, model);
      }
    ImGui::EndTable();
  }

  void draw_row(PanelContext& context, const BatchRowsModel& model, int index) {
    const Look& look = context.look;
    const ShownBatchRow& row = model.rows[static_cast<std::size_t>(index)];
    ImGui::PushID(index);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    if (ImGui::Selectable("##row", row.request == context.workbench.selection().request,
                          ImGuiSelectableFlags_SpanAllColumns))
      context.emit("select.request", quoted_word(row.name));
    context.mark_row("row " + row.name);
    if (ImGui::IsItemHovered()) facts_tooltip(look, describe_row(row, index));
    const DifferenceMarks* marks = context.workbench.differences();
    const RequestDifferences* of = marks != nullptr ? marks->of(row.name) : nullptr;
    if (of != nullptr && of->row) draw_row_differs(look);
    ImGui::SameLine(0, 0);
    const auto cells = batch_row_cells(row, static_cast<std::size_t>(index));
    ImGui::TextUnformatted(cells.front().c_str());
    for (int column = 1; column < static_cast<int>(cells.size()); ++column) {
      const TextColour colour(colour_of(look, row, column));
      const std::string& text = cells[static_cast<std::size_t>(column)];
      table_cell(kBatchRowColumns[static_cast<std::size_t>(column)].kind, text);
    }
    ImGui::PopID();
  }

  static Rgba colour_of(const Look& look, const ShownBatchRow& row, int column) {
    if (column == kCountColumn) return row.is_wrong_count ? look.ui().error : look.ui().text_dim;
    return column == kOriginColumn && row.moved ? look.ui().info : look.ui().text;
  }

  static void draw_padding(const Look& look, const BatchRowsModel& model) {
    const TextColour dim(look.ui().text_dim);
    const PaddingRowWords words = padding_row_words(model);
    ImGui::TableNextRow();
    table_cell(words.rows);
    ImGui::TableSetColumnIndex(kBatchRequestColumn - 1);
    table_cell(words.name);
    ImGui::TableSetColumnIndex(kOriginColumn - 1);  // the cell moves to the next one
    table_cell(words.origin);
  }

  Cached<BatchRowsModel> model_;
  FittedTable table_;
  SelectionFollower follower_;
};

}  // namespace

std::unique_ptr<Panel> make_batch_rows_panel() { return std::make_unique<BatchRowsPanel>(); }

}  // namespace hybridscope
