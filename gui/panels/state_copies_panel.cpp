#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/conv_drawing.h"
#include "gui/copy_drawing.h"
#include "gui/model/command_arguments.h"
#include "gui/model/state_copies_model.h"
#include "gui/row_scroll.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

constexpr float kLeastForColumns = 700;  // points wide
constexpr float kLeastDetails = 150;     // points high; a smaller panel scrolls as a whole

class StateCopiesPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const StateCopiesModel& model = model_.get(context.workbench, [&] {
      return make_state_copies_model(*context.workbench.run(), context.workbench.selection());
    });
    if (model.rows.empty()) {
      wrapped_dim_text(context.look, model.empty);
      return;
    }
    dim_text(context.look, decisions_words(model));
    draw_list(context, model);
    const float room = std::max(ImGui::GetContentRegionAvail().y, context.look.px(kLeastDetails));
    ImGui::BeginChild(
        "details", ImVec2(0, room), false,
        ImGuiWindowFlags_AlwaysVerticalScrollbar |
            (is_wide(context.look, model) ? ImGuiWindowFlags_HorizontalScrollbar : 0));
    // What differs from the other run comes first.
    const RequestDifferences* of = differences_of(context, model.name);
    for (const bool differing : {true, false})
      for (std::size_t i = 0; i < model.details.size(); ++i) {
        if (differs(of, model.details[i].moment) != differing) continue;
        ImGui::PushID(static_cast<int>(i));
        draw_detail(context, model, model.details[i]);
        ImGui::PopID();
      }
    if (!model.details.empty()) {
      draw_state_legend(context.look, LegendShape::lines, SamplePlace::first);
      wrapped_dim_text(context.look, kFormulaLetters);
    }
    ImGui::EndChild();
  }

 private:
  // Texts wrap at the edge of a panel unless a drawing needs more room than there is.
  static bool is_wide(const Look& look, const StateCopiesModel& model) {
    const float room = ImGui::GetContentRegionAvail().x - ImGui::GetStyle().ScrollbarSize;
    return std::ranges::any_of(model.details, [&](const StateCopyDetail& detail) {
      return detail.drawing && std::max(copy_columns_width(look, *detail.drawing),
                                        conv_copy_width(look, *detail.drawing)) > room;
    });
  }

  // Words wrap, so rows differ in height. In a narrow panel a row is a sentence, and what follows
  // from it stands below.
  void draw_list(PanelContext& context, const StateCopiesModel& model) {
    const Look& look = context.look;
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerV;
    is_narrow_ = ImGui::GetContentRegionAvail().x < look.px(kLeastForColumns);
    const float line = table_header_height();
    const float most = std::max(std::floor(ImGui::GetContentRegionAvail().y * 0.4F), line * 3);
    const float height = std::min(list_height_ > 0 ? list_height_ : most, most);
    if (!ImGui::BeginTable(is_narrow_ ? "sentences" : "decisions",
                           is_narrow_ ? 1 : static_cast<int>(kCopyColumns.size()),
                           kFlags | (is_narrow_ ? 0 : ImGuiTableFlags_Resizable),
                           ImVec2(0, height)))
      return;
    if (!is_narrow_) set_up_columns();
    wanted_ = wanted_row(context, model);
    follows_ = follower_.moves_to({context.workbench.selection().request, wanted_});
    scroll_.begin(is_narrow_ ? 0 : table_header_height());
    for (std::size_t i = 0; i < model.rows.size(); ++i) draw_row(context, model, i);
    scroll_.end();
    ImGui::EndTable();
    context.mark("copy decisions");
  }

  static void set_up_columns() {
    ImGui::TableSetupScrollFreeze(0, 1);
    constexpr std::array<float, kCopyColumns.size()> kWeights = {1.15F, 1.2F, 1.7F, 1.15F,
                                                                 0.65F, 2.3F, 2.2F};
    for (std::size_t i = 0; i < kCopyColumns.size(); ++i)
      ImGui::TableSetupColumn(kCopyColumns[i].title.data(), ImGuiTableColumnFlags_WidthStretch,
                              kWeights[i]);
    table_headers(kCopyColumns);
  }

  void draw_row(PanelContext& context, const StateCopiesModel& model, std::size_t index) {
    const StateCopyRow& row = model.rows[index];
    ImGui::PushID(static_cast<int>(index));
    ImGui::TableNextRow();
    const std::string bias = row.bias ? fmt::format("{}", *row.bias) : "-";
    const std::string sentence = copy_row_sentence(row);
    const std::array<std::string_view, kCopyColumns.size()> cells = {
        row.name, copy_moment_name(row.moment), row.outcome, row.columns, bias, row.why, row.rule};
    ImGui::TableSetColumnIndex(0);
    const float room = ImGui::GetContentRegionAvail().x;
    const float height = is_narrow_ ? wrapped_height(sentence, room) + wrapped_height(row.why, room)
                                    : wrapped_row_height(cells);
    ImGui::TableSetColumnIndex(0);
    const ImVec2 at = ImGui::GetCursorPos();
    list_height_ = at.y + height + 2 * ImGui::GetStyle().CellPadding.y;
    const bool selected = row.request == model.request;
    if (ImGui::Selectable("##row", selected, ImGuiSelectableFlags_SpanAllColumns,
                          ImVec2(0, height)) &&
        row.request.value >= 0)
      context.emit("select.request", quoted_word(row.name));
    const bool is_seen = ImGui::IsItemVisible();
    context.mark_row(fmt::format("decision {} {}", row.name, index));
    tooltip(row.in_words);
    scroll_.add(follows_ &&
                (wanted_ < 0 ? selected : wanted_ == static_cast<std::ptrdiff_t>(index)));
    if (differs(differences_of(context, row.name), row.moment)) draw_row_differs(context.look);
    const UiColours& ui = context.look.ui();
    if (!is_seen) {
      // Rows out of sight need their height only.
    } else if (is_narrow_) {
      ImGui::SetCursorPos(at);
      ImGui::TextUnformatted(wrap_text(sentence, room).c_str());
      ImGui::SetCursorPos(ImVec2(at.x, at.y + wrapped_height(sentence, room)));
      const TextColour dim(ui.text_dim);
      ImGui::TextUnformatted(wrap_text(row.why, room).c_str());
    } else {
      ImGui::SameLine(0, 0);
      wrapped_text(row.name);
      const TextColour colour(row.copies ? ui.text : ui.text_dim);
      for (std::size_t i = 1; i < cells.size(); ++i) table_wrapped_cell(cells[i]);
    }
    ImGui::PopID();
  }

  // What differs about the request; null: nothing does.
  static const RequestDifferences* differences_of(PanelContext& context, const std::string& name) {
    const DifferenceMarks* marks = context.workbench.differences();
    return marks != nullptr ? marks->of(name) : nullptr;
  }

  static bool differs(const RequestDifferences* of, CopyMoment moment) {
    if (of == nullptr || moment == CopyMoment::first) return false;
    return moment == CopyMoment::before_forward ? of->pre_copy : of->post_copy;
  }

  // The request's first decision that differs from the other run; -1: none does.
  static std::ptrdiff_t wanted_row(PanelContext& context, const StateCopiesModel& model) {
    const RequestDifferences* of = differences_of(context, model.name);
    const auto row = std::ranges::find_if(model.rows, [&](const StateCopyRow& one) {
      return one.request == model.request && differs(of, one.moment);
    });
    return row == model.rows.end() ? -1 : row - model.rows.begin();
  }

  void draw_detail(PanelContext& context, const StateCopiesModel& model,
                   const StateCopyDetail& detail) {
    const Look& look = context.look;
    heading(look, fit_middle(look.fonts.bold, model.name,
                             ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize));
    flow(ImGui::CalcTextSize(detail.title.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
    ImGui::TextUnformatted(detail.title.c_str());
    context.mark(fmt::format("detail {}", copy_moment_name(detail.moment)));
    for (const BlockCopyDrawing& copy : detail.block_copies) {
      dim_text(look, copy.group_name);
      draw_block_copy(context, copy);
      wrapped_text(copy.words);
    }
    if (detail.drawing) {
      const std::string& group = detail.drawing->group_name;
      flow(ImGui::CalcTextSize(group.c_str()).x, ImGui::GetStyle().ItemSpacing.x);
      dim_text(look, group);
      tooltip("Columns and blocks are those of the worker's block table");
      for (const std::string& fault : detail.drawing->faults) {
        const TextColour colour(look.ui().error);
        wrapped_text("Wrong: " + fault);
      }
      const float room = ImGui::GetContentRegionAvail().x;
      draw_copy_columns(context, *detail.drawing, model.name);
      if (detail.drawing->has_conv) draw_window(look, *detail.drawing, room);
      if (!detail.drawing->note.empty()) wrapped_dim_text(look, detail.drawing->note);
    }
    {
      const FontScope fixed(look.fonts.fixed);
      for (const std::string& term : detail.formula) wrapped_text(term);
    }
    wrapped_dim_text(look, detail.source);
    ImGui::Dummy(ImVec2(0, look.px(8)));
  }

  // Beside the columns where there is room.
  static void draw_window(const Look& look, const StateCopyDrawing& drawing, float room) {
    if (copy_columns_width(look, drawing) + conv_copy_width(look, drawing) < room - look.px(16))
      ImGui::SameLine(0, look.px(16));
    draw_conv_copy(look, drawing);
    draw_conv_legend(look, drawing);
    wrapped_dim_text(look, fmt::format("Numbers are token numbers from 1. Framed: the last W - 1 "
                                       "tokens of S({}). Position {} + i goes to position i.",
                                       drawing.num_tokens, drawing.conv.bias));
  }

  Cached<StateCopiesModel> model_;
  struct Wanted {
    RequestId request{};
    std::ptrdiff_t row = -1;
    friend bool operator==(const Wanted&, const Wanted&) = default;
  };
  Follower<Wanted> follower_;
  RowScroll scroll_;
  bool is_narrow_ = false;
  std::ptrdiff_t wanted_ = -1;  // the row that is scrolled to; -1: the selected request's first
  bool follows_ = false;        // it must be scrolled into view
  float list_height_ = 0;       // pixels, of the frame before; 0: not known
};

}  // namespace

std::unique_ptr<Panel> make_state_copies_panel() { return std::make_unique<StateCopiesPanel>(); }

}  // namespace hybridscope
