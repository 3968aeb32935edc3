#include "gui/panels/panels.h"

#include <algorithm>
#include <cmath>

#include "gui/model/speculative_model.h"
#include "gui/table_view.h"
#include "gui/token_strip.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr std::size_t kMostTableRows = 5;

class SpeculativePanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Shown& shown = shown_.get(context.workbench, [&] {
      const Workbench& workbench = context.workbench;
      Shown made{make_speculative_model(*context.workbench.run(), workbench.selection()), {}};
      made.picture = speculative_picture(made.model, workbench);
      return made;
    });
    const SpeculativeModel& model = shown.model;
    if (model.rows.empty()) {
      dim_lines(context.look, model.empty);
      return;
    }
    draw_table(context, shown.picture.tables.front());
    dim_lines(context.look, model.in_flight);
    dim_lines(context.look, model.no_places);
    dim_lines(context.look, model.policies);
    draw_strips(context, model);
  }

 private:
  static void dim_lines(const Look& look, std::string_view text) {
    if (text.empty()) return;
    wrapped_in_window(look.ui().text_dim, text);
  }

  void draw_table(PanelContext& context, const Table& table) {
    const float line = ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
    const ImVec2 room = ImGui::GetContentRegionAvail();
    const float most = std::max(std::floor(room.y * 0.3F / line), 3.0F);
    const float shown =
        std::min(static_cast<float>(std::min(table.rows.size(), kMostTableRows) + 1), most);
    TablePlace place{.id = "drafts", .size = ImVec2(room.x, line * shown + context.look.px(2))};
    if (table_.scrolls_sideways(context, table, place))
      place.size.y += ImGui::GetStyle().ScrollbarSize;
    table_.draw(context, table, place);
  }

  void draw_strips(PanelContext& context, const SpeculativeModel& model) {
    const Look& look = context.look;
    float widest = 0;
    for (const SpeculativeRow& row : model.rows)
      widest = std::max(widest, token_strip_width(look, row));
    const bool wide = widest > ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
    const float height = heading_height(look, model) + words_height(model) +
                         token_strip_height(look) + ImGui::GetStyle().ItemSpacing.y + look.px(4);
    ImGui::BeginChild("strips", ImVec2(0, std::max(ImGui::GetContentRegionAvail().y, height)),
                      false,
                      ImGuiWindowFlags_AlwaysVerticalScrollbar |
                          (wide ? ImGuiWindowFlags_HorizontalScrollbar : 0));
    const std::ptrdiff_t selected = selected_row(context, model);
    if (strips_follow_.moves_to(context.workbench.selection().request) && selected >= 0)
      scroll_into_view(height * static_cast<float>(selected), height);
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(model.rows.size()), height);
    while (clipper.Step())
      for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) {
        const ImVec2 top = ImGui::GetCursorPos();
        ImGui::PushID(i);
        draw_strip(context, model, model.rows[static_cast<std::size_t>(i)]);
        ImGui::PopID();
        ImGui::SetCursorPos(ImVec2(top.x, top.y + height));
      }
    ImGui::EndChild();
  }

  // -1: the selected request has no row.
  static std::ptrdiff_t selected_row(const PanelContext& context, const SpeculativeModel& model) {
    const auto row = std::ranges::find(model.rows, context.workbench.selection().request,
                                       &SpeculativeRow::request);
    return row == model.rows.end() ? -1 : row - model.rows.begin();
  }

  static void draw_strip(PanelContext& context, const SpeculativeModel& model,
                         const SpeculativeRow& row) {
    const Look& look = context.look;
    const bool selected = row.request == context.workbench.selection().request;
    const float room = ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize;
    {
      const TextColour colour(selected ? look.ui().accent : look.ui().text);
      heading(look, fit_middle(look.fonts.bold, row.name, room));
    }
    if (is_on_one_line(look, row, room)) ImGui::SameLine();
    wrapped_in_window(look.ui().text, row.sample);
    context.mark("sample " + row.name);
    draw_token_strip(context, model, row);
    dim_lines(look, row.next);
    for (const std::string& fault : row.faults) {
      wrapped_in_window(look.ui().error, "Wrong: " + fault);
    }
  }

  // The name and what was sampled.
  static bool is_on_one_line(const Look& look, const SpeculativeRow& row, float room) {
    return text_width(look.fonts.bold, row.name) + ImGui::GetStyle().ItemSpacing.x +
               text_width(look.fonts.words, row.sample) <=
           room;
  }

  // The height of the highest heading of a strip.
  static float heading_height(const Look& look, const SpeculativeModel& model) {
    const float line = ImGui::GetTextLineHeightWithSpacing();
    const float room = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
    float height = line;
    for (const SpeculativeRow& row : model.rows)
      if (!is_on_one_line(look, row, room))
        height = std::max(
            height, line + wrapped_height(row.sample, room) + ImGui::GetStyle().ItemSpacing.y);
    return height;
  }

  // The height of the longest words below a strip, so that all strips are equally high.
  static float words_height(const SpeculativeModel& model) {
    const std::string* longest = nullptr;
    std::size_t most_faults = 0;
    for (const SpeculativeRow& row : model.rows) {
      if (longest == nullptr || row.next.size() > longest->size()) longest = &row.next;
      most_faults = std::max(most_faults, row.faults.size());
    }
    const float room = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
    const float next = longest == nullptr ? 0 : wrapped_height(*longest, room);
    return std::max(next, ImGui::GetTextLineHeight() * 2) + ImGui::GetStyle().ItemSpacing.y * 2 +
           ImGui::GetTextLineHeightWithSpacing() * static_cast<float>(most_faults);
  }

  struct Shown {
    SpeculativeModel model;
    Picture picture;
  };
  Cached<Shown> shown_;
  TableView table_;
  SelectionFollower strips_follow_;
};

}  // namespace

std::unique_ptr<Panel> make_speculative_panel() { return std::make_unique<SpeculativePanel>(); }

}  // namespace hybridscope
