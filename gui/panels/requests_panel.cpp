#include "gui/panels/panels.h"

#include <array>

#include "gui/cell_drawing.h"
#include "gui/fitted_table.h"
#include "gui/model/command_arguments.h"
#include "gui/model/requests_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

class RequestsPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Look& look = context.look;
    const RequestsModel& model = model_.get(context.workbench, [&] {
      return make_requests_model(*context.workbench.run(), context.workbench.options().requests);
    });
    if (context.workbench.run()->level() == RecordLevel::counts) {
      dim_text(look, kNoRequestsKept);
      return;
    }
    dim_text(look, listed_words(model));
    tooltip(
        "Others have not come yet or have finished; a session does not name those that wait far "
        "behind. -: not known, or no such thing happened.");
    if (!model.rows.empty()) draw_table(context, model);
  }

 private:
  void draw_table(PanelContext& context, const RequestsModel& model) {
    std::array<ColumnWords, kNumRequestColumns> columns;
    for (std::size_t i = 0; i < kNumRequestColumns; ++i)
      columns[i] = request_column_words(static_cast<RequestColumn>(i));
    const Fonts& fonts = context.look.fonts;
    const FittedTable::Shape shape{
        .id = "requests",
        .columns = columns,
        .rows = model.rows.size(),
        .size = ImGui::GetContentRegionAvail(),
        .headers = fonts.bold,
        .numbers = fonts.fixed,
        .marked = static_cast<int>(context.workbench.options().requests.sort)};
    table_.measure(context, shape, [&](std::size_t row, std::size_t column) {
      return request_text(model.rows[row], static_cast<RequestColumn>(column));
    });
    if (!table_.begin(shape)) return;
    draw_headers(context);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(model.rows.size()));
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i)
        draw_row(context, model.rows[static_cast<std::size_t>(i)]);
    ImGui::EndTable();
  }

  // A click sorts by command; ImGui's own sort order would not be saved.
  static void draw_headers(PanelContext& context) {
    const RequestsOptions& options = context.workbench.options().requests;
    ImGui::TableNextRow(ImGuiTableRowFlags_Headers);
    const FontScope bold(context.look.fonts.bold);
    for (std::size_t i = 0; i < kNumRequestColumns; ++i) {
      const auto column = static_cast<RequestColumn>(i);
      ImGui::TableNextColumn();
      const ColumnWords words = request_column_words(column);
      const bool sorted = options.sort == column;
      const std::string title =
          std::string(words.title) + (sorted ? options.descending ? " -" : " +" : "");
      ImGui::PushID(static_cast<int>(i));
      const TextColour colour(sorted ? context.look.ui().accent : context.look.ui().text);
      const std::string fitted =
          fit_text(context.look.fonts.bold, title, ImGui::GetContentRegionAvail().x);
      if (ImGui::Selectable(fitted.c_str()))
        context.emit("requests.sort", std::string(request_column_name(column)));
      context.mark("sort " + std::string(request_column_name(column)));
      ImGui::PopID();
      tooltip(words.help);
    }
  }

  static void draw_row(PanelContext& context, const RequestRow& row) {
    const Look& look = context.look;
    ImGui::PushID(row.request.value);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const bool selected = row.request == context.workbench.selection().request;
    if (ImGui::Selectable("##row", selected, ImGuiSelectableFlags_SpanAllColumns))
      context.emit("select.request", quoted_word(row.name));
    context.mark("request " + row.name);
    if (!row.state_note.empty()) tooltip(row.state_note);
    const DifferenceMarks* marks = context.workbench.differences();
    if (marks != nullptr && marks->of(row.name) != nullptr) draw_row_differs(look);
    ImGui::SameLine(0, 0);
    fitted_name(row.name);
    ImGui::TableNextColumn();
    draw_state(look, row);
    for (std::size_t i = 2; i < kNumRequestColumns; ++i)
      draw_number(look, request_text(row, static_cast<RequestColumn>(i)));
    ImGui::PopID();
  }

  static void draw_state(const Look& look, const RequestRow& row) {
    const bool warns = row.state == RequestState::preempted;
    const bool dim = row.state == RequestState::waiting || row.state == RequestState::finished ||
                     row.state == RequestState::running;
    const TextColour colour(warns ? look.ui().warning : dim ? look.ui().text_dim : look.ui().text);
    fitted_text(request_text(row, RequestColumn::state));
  }

  static void draw_number(const Look& look, const std::string& text) {
    const FontScope fixed(look.fonts.fixed);
    table_number(text);
  }

  Cached<RequestsModel> model_;
  FittedTable table_;
};

}  // namespace

std::unique_ptr<Panel> make_requests_panel() { return std::make_unique<RequestsPanel>(); }

}  // namespace hybridscope
