#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gui/cell_drawing.h"
#include "gui/model/metadata_model.h"
#include "gui/panels/metadata_grid.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kLeastTable = 300;      // a narrower panel scrolls it
constexpr float kLeastWithTypes = 480;  // below it dtype and shape are in tooltips only
constexpr float kName = 212;
constexpr float kNarrowName = 150;
constexpr int kDtype = 2;
constexpr int kShape = 3;

class MetadataPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const MetadataModel& model = model_.get(context.workbench, [&] {
      return make_metadata_model(*context.workbench.run(), context.workbench.selection().request);
    });
    draw_notes(context, model);
    const MetadataSection* section = nullptr;
    const MetadataArray* whole = find_whole(context, model, &section);
    const bool wants_whole = !context.workbench.options().metadata.array.empty();
    const float room = ImGui::GetContentRegionAvail().y;
    ImGui::BeginChild("arrays", ImVec2(0, wants_whole ? room * 0.55F : 0), false,
                      ImGuiWindowFlags_HorizontalScrollbar);
    for (const MetadataSection& shown : model.sections) draw_section(context, shown);
    ImGui::EndChild();
    if (wants_whole) draw_whole(context, section, whole);
  }

 private:
  static void draw_notes(const PanelContext& context, const MetadataModel& model) {
    const Look& look = context.look;
    if (context.workbench.run()->level() != RecordLevel::full) {
      dim_text(look, kNoMetadata);
      return;
    }
    const float side = ImGui::GetTextLineHeight();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy(ImVec2(side * 0.6F, side));
    draw_changed_corner(*ImGui::GetWindowDrawList(), look,
                        {at, ImVec2(at.x + side * 0.6F, at.y + side)});
    ImGui::SameLine(0, look.px(4));
    wrapped_dim_text(look, model.note);
    wrapped_in_window(look.ui().text_dim, kSignLegend);
  }

  static const MetadataArray* find_whole(const PanelContext& context, const MetadataModel& model,
                                         const MetadataSection** of) {
    const MetadataOptions& wanted = context.workbench.options().metadata;
    for (const MetadataSection& section : model.sections)
      for (const MetadataArray& array : section.arrays)
        if (section.group == wanted.group && array.array.name == wanted.array &&
            array.note.empty()) {
          *of = &section;
          return &array;
        }
    return nullptr;
  }

  void draw_section(PanelContext& context, const MetadataSection& section) const {
    const Look& look = context.look;
    ImGui::PushID(section.group);
    ImGui::Dummy(ImVec2(0, look.px(3)));
    heading(look, section.title, section.builder);
    if (!section.note.empty()) wrapped_in_window(look.ui().text_dim, section.note);
    if (!section.warning.empty()) wrapped_in_window(look.ui().warning, "! " + section.warning);
    for (const std::string& line : section.checkpoints) wrapped_in_window(look.ui().text, line);
    for (const std::string& line : section.replayed) wrapped_in_window(look.ui().warning, line);
    const float width = ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize - look.px(2);
    if (ImGui::BeginTable(
            "arrays", static_cast<int>(kArrayColumns.size()),
            ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH | ImGuiTableFlags_Hideable,
            ImVec2(std::max(width, look.px(kLeastTable)), 0))) {
      const bool narrow = width < look.px(kLeastWithTypes);
      const std::array<float, kArrayColumns.size()> widths = {narrow ? kNarrowName : kName, 9, 40,
                                                              54, 0};
      for (std::size_t i = 0; i < widths.size(); ++i)
        ImGui::TableSetupColumn(
            kArrayColumns[i].data(),
            widths[i] > 0 ? ImGuiTableColumnFlags_WidthFixed : ImGuiTableColumnFlags_WidthStretch,
            look.px(widths[i]));
      for (const int column : {kDtype, kShape}) ImGui::TableSetColumnEnabled(column, !narrow);
      int index = 0;
      for (const MetadataArray& array : section.arrays) draw_row(context, section, array, index++);
      ImGui::EndTable();
    }
    if (!section.absent.empty()) wrapped_in_window(look.ui().text_dim, "None: " + section.absent);
    ImGui::PopID();
  }

  // Values that do not fit the row, and the meaning of its sign.
  static void row_tooltip(const MetadataArray& array) {
    std::string words = fmt::format("{} {} {}", array.array.name, array.dtype, array.shape);
    if (array.sign != ReplaySign::none) words += "\n" + std::string(sign_words(array.sign).words);
    tooltip(words);
  }

  static void draw_row(PanelContext& context, const MetadataSection& section,
                       const MetadataArray& array, int index) {
    const Look& look = context.look;
    ImGui::PushID(index);
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    const MetadataOptions& whole = context.workbench.options().metadata;
    const std::string name(array.array.name);
    const bool is_whole = whole.group == section.group && whole.array == name;
    const std::string fitted = fit_middle(look.fonts.words, name, ImGui::GetContentRegionAvail().x);
    if (ImGui::Selectable(fitted.c_str(), is_whole && array.note.empty(),
                          ImGuiSelectableFlags_SpanAllColumns) &&
        array.note.empty()) {
      if (is_whole)
        context.emit("metadata.close_array");
      else
        context.emit("metadata.array", fmt::format("{} {}", section.group, name));
    }
    context.mark(fmt::format("array {} {}", section.group, name));
    row_tooltip(array);
    const DifferenceMarks* marks = context.workbench.differences();
    if (marks != nullptr && marks->of(section.group, name) != nullptr) draw_row_differs(look);
    ImGui::TableNextColumn();
    {
      const TextColour colour(array.sign == ReplaySign::stale  ? look.ui().warning
                              : array.sign == ReplaySign::read ? look.ui().accent
                                                               : look.ui().text_dim);
      ImGui::TextUnformatted(sign_words(array.sign).letter);
    }
    ImGui::TableNextColumn();
    dim_text(look, array.dtype);
    ImGui::TableNextColumn();
    ImGui::TextUnformatted(array.shape.c_str());
    if (array.reshaped && array.num_changed > 0) tooltip("Another shape than in the step before");
    ImGui::TableNextColumn();
    if (array.note.empty())
      draw_values(look, array);
    else
      draw_fitted(look, array.note);
    ImGui::PopID();
  }

  static void draw_fitted(const Look& look, const std::string& words) {
    const std::string fitted = fit_text(look.fonts.words, words, ImGui::GetContentRegionAvail().x);
    dim_text(look, fitted);
    if (fitted != words) tooltip(words);
  }

  // Draws as many values as fit, then how many they are.
  static void draw_values(const Look& look, const MetadataArray& array) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x;
    const float height = ImGui::GetTextLineHeight();
    ImGui::Dummy(ImVec2(room, height));
    if (!ImGui::IsItemVisible()) return;
    const std::int64_t size = num_elements(array.array);
    ImFont* font = look.fonts.fixed;
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const auto width_of = [&](const std::string& text) {
      return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.c_str()).x;
    };
    if (size == 0) return list.AddText(at, packed(look.ui().text_dim), "empty");
    const std::string most = fmt::format("{} of {}", size, size);
    float all = 0;
    std::int64_t elements = 0;
    for (const ValuePiece& piece : array.pieces) {
      all += width_of(piece.text) + look.px(13);
      elements += piece.elements;
    }
    const float right =
        at.x + room -
        (elements == size && all <= room ? 0 : ImGui::CalcTextSize(most.c_str()).x + look.px(6));
    float x = at.x;
    std::int64_t shown = 0;
    for (const ValuePiece& piece : array.pieces) {
      const float width = width_of(piece.text);
      if (x + width > right && shown > 0) break;
      const CellBox box{ImVec2(x - look.px(2), at.y),
                        ImVec2(x + width + look.px(10), at.y + height)};
      if (piece.selected) list.AddRectFilled(box.min, box.max, packed(look.ui().selection));
      list.AddText(font, font->FontSize, ImVec2(x, at.y), packed(look.ui().text),
                   piece.text.c_str());
      if (piece.changed) draw_changed_corner(list, look, box);
      x += width + look.px(13);
      shown += piece.elements;
    }
    if (shown < size)
      list.AddText(ImVec2(x, at.y), packed(look.ui().text_dim),
                   fmt::format("{} of {}", shown, size).c_str());
  }

  static void draw_whole(PanelContext& context, const MetadataSection* section,
                         const MetadataArray* array) {
    const Look& look = context.look;
    ImGui::Separator();
    if (ImGui::Button("Close")) context.emit("metadata.close_array");
    context.mark("metadata.close");
    ImGui::SameLine();
    heading(look, context.workbench.options().metadata.array);
    if (array == nullptr) {
      dim_text(look, "The array is None in this step.");
      return;
    }
    wrapped_in_window(look.ui().text_dim,
                      fmt::format("{} {} of {}, {} changed", array->dtype, array->shape,
                                  section->title, array->num_changed));
    draw_metadata_grid(context, *section, *array);
  }

  Cached<MetadataModel> model_;
};

}  // namespace

std::unique_ptr<Panel> make_metadata_panel() { return std::make_unique<MetadataPanel>(); }

}  // namespace hybridscope
