#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gui/cell_drawing.h"
#include "gui/model/batch_rows_model.h"
#include "gui/model/command_arguments.h"
#include "gui/token_axis.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr std::array<float, kBatchRowColumns.size()> kBatchRowsWidths = {26, 28, 56, 50,  104, 48,
                                                                         36, 44, 18, 136, 64};

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
    const ShownRun& run = *context.workbench.run();
    wrapped_dim_text(
        look, fmt::format("{}. Step {} of {}", model.graph, run.step(), known_steps_words(run)));
    if (!model.counts.empty()) wrapped_dim_text(look, model.counts);
    draw_table(context, model);
  }

 private:
  void draw_table(PanelContext& context, const BatchRowsModel& model) {
    const Look& look = context.look;
    constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_ScrollY | ImGuiTableFlags_ScrollX |
                                       ImGuiTableFlags_RowBg | ImGuiTableFlags_Resizable |
                                       ImGuiTableFlags_BordersInnerV | ImGuiTableFlags_Hideable;
    const float least = ImGui::GetTextLineHeightWithSpacing() * 4;
    const float height = std::max(ImGui::GetContentRegionAvail().y, least);
    if (!ImGui::BeginTable("rows", static_cast<int>(kBatchRowColumns.size()), kFlags,
                           ImVec2(0, height)))
      return;
    ImGui::TableSetupScrollFreeze(0, 1);
    for (std::size_t i = 0; i < kBatchRowColumns.size(); ++i)
      ImGui::TableSetupColumn(kBatchRowColumns[i].title.data(), ImGuiTableColumnFlags_WidthFixed,
                              look.px(kBatchRowsWidths[i]));
    ImGui::TableSetColumnEnabled(kSlotColumn, model.has_slots);
    table_headers(kBatchRowColumns);
    const auto selected = std::ranges::find(model.rows, context.workbench.selection().request,
                                            &ShownBatchRow::request);
    if (follower_.moves_to(context.workbench.selection().request) && selected != model.rows.end())
      scroll_to_row(selected - model.rows.begin(),
                    ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2);
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
    ImGui::TextUnformatted(fmt::format("{}", index).c_str());
    table_number(fmt::format("{}", row.slot));
    table_fitted_cell(row.name);
    table_cell(row.row_class);
    {
      const TextColour colour(row.moved ? look.ui().info : look.ui().text);
      table_fitted_cell(row.origin);
    }
    table_number(fmt::format("{}", row.num_computed_tokens));
    table_number(fmt::format("{}", row.num_query_tokens));
    table_number(row.num_draft_count < 0 ? std::string("-")
                                         : fmt::format("{}", row.num_draft_count));
    table_number(fmt::format("{}", row.num_accepted_tokens));
    {
      const TextColour colour(row.is_wrong_count ? look.ui().error : look.ui().text_dim);
      table_fitted_cell(row.count_words);
    }
    table_number(batch_row_tokens(row));
    ImGui::PopID();
  }

  static void draw_padding(const Look& look, const BatchRowsModel& model) {
    const TextColour dim(look.ui().text_dim);
    const PaddingRowWords words = padding_row_words(model);
    ImGui::TableNextRow();
    table_cell(words.rows);
    ImGui::TableSetColumnIndex(2);
    ImGui::TextUnformatted(words.name.data());
    ImGui::TableSetColumnIndex(3);  // the cell moves to the next one
    table_cell(words.origin);
  }

  Cached<BatchRowsModel> model_;
  SelectionFollower follower_;
};

}  // namespace

std::unique_ptr<Panel> make_batch_rows_panel() { return std::make_unique<BatchRowsPanel>(); }

}  // namespace hybridscope
