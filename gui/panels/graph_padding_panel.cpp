#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/cell_drawing.h"
#include "gui/model/graph_padding_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

class GraphPaddingPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const Look& look = context.look;
    const GraphPaddingModel& model = model_.get(
        context.workbench, [&] { return make_graph_padding_model(*context.workbench.run()); });
    ImGui::BeginChild("padding");
    if (model.has_batch) {
      heading(look, "Runtime mode " + model.runtime_mode);
      wrapped_text(look.ui().text, model.words);
      ImGui::Dummy(ImVec2(0, look.px(2)));
      draw_bar(look, "tokens", model.tokens);
      if (model.rows) draw_bar(look, "rows", *model.rows);
    } else {
      dim_text(look, kNoGraph);
    }
    draw_captured(context, model);
    draw_arrays(look, model);
    ImGui::EndChild();
  }

 private:
  static void draw_part(ImDrawList& list, const Look& look, const CellBox& box, bool padding,
                        const std::string& text) {
    if (padding) {
      draw_cell(list, look, box,
                {.block = 0, .role = CellRole::padding, .state = CellState::written}, text);
      return;
    }
    list.AddRectFilled(box.min, box.max, packed(look.ui().selection));
    const float width = ImGui::CalcTextSize(text.c_str()).x;
    if (width < box.max.x - box.min.x)
      list.AddText(ImVec2((box.min.x + box.max.x - width) / 2, box.min.y + look.px(2)),
                   packed(look.ui().text), text.c_str());
  }

  static void draw_bar(const Look& look, const char* what, const PaddingBar& bar) {
    const float label = look.px(54);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float height = ImGui::GetTextLineHeight() + look.px(5);
    const std::string words =
        bar.padding > 0 ? fmt::format("{} of {} padding", bar.padding, bar.real + bar.padding)
                        : std::string("no padding");
    const float note = ImGui::CalcTextSize(words.c_str()).x + look.px(12);
    const float room = std::max(ImGui::GetContentRegionAvail().x - label - note, look.px(60));
    ImGui::Dummy(ImVec2(label + room + note, height));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddText(ImVec2(at.x, at.y + look.px(2)), packed(look.ui().text_dim), what);
    const float all = static_cast<float>(std::max(bar.real + bar.padding, 1));
    const float real = room * static_cast<float>(bar.real) / all;
    const float x = at.x + label;
    draw_part(list, look, {ImVec2(x, at.y), ImVec2(x + real, at.y + height)}, false,
              fmt::format("{}", bar.real));
    if (bar.padding > 0)
      draw_part(list, look, {ImVec2(x + real + 1, at.y), ImVec2(x + room, at.y + height)}, true,
                fmt::format("+{}", bar.padding));
    list.AddText(ImVec2(x + room + look.px(8), at.y + look.px(2)), packed(look.ui().text_dim),
                 words.c_str());
  }

  static void draw_captured(PanelContext& context, const GraphPaddingModel& model) {
    const Look& look = context.look;
    ImGui::Dummy(ImVec2(0, look.px(4)));
    heading(look, "Captured graphs", model.setting);
    tooltip("cudagraph_mode as the metadata builders allow it; sizes are in tokens");
    if (model.captured.empty()) dim_text(look, kNoCapture);
    for (const CapturedGraphs& graphs : model.captured) {
      wrapped_text(look.ui().text_dim, graphs.title);
      for (std::size_t i = 0; i < graphs.sizes.size(); ++i) draw_size(context, graphs, i);
    }
  }

  static void draw_size(PanelContext& context, const CapturedGraphs& graphs, std::size_t index) {
    const Look& look = context.look;
    const std::string text = fmt::format("{}", graphs.sizes[index]);
    const bool picked = static_cast<std::ptrdiff_t>(index) == graphs.picked;
    const ImVec2 size(ImGui::CalcTextSize(text.c_str()).x + look.px(12),
                      ImGui::GetTextLineHeight() + look.px(4));
    if (index > 0) flow(size.x, look.px(4));
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::Dummy(size);
    const ImVec2 end(at.x + size.x, at.y + size.y);
    ImDrawList& list = *ImGui::GetWindowDrawList();
    list.AddRectFilled(at, end, packed(picked ? look.ui().accent : look.ui().field), look.px(3));
    list.AddText(ImVec2(at.x + look.px(6), at.y + look.px(2)),
                 packed(picked ? look.ui().on_accent : look.ui().text), text.c_str());
    if (picked) {
      list.AddRect(at, end, packed(look.ui().focus), look.px(3), 0, look.px(2));
      context.mark("picked");
      tooltip("The graph of this step: the smallest that holds its tokens");
    }
  }

  static void draw_arrays(const Look& look, const GraphPaddingModel& model) {
    if (!model.has_batch) return;
    ImGui::Dummy(ImVec2(0, look.px(4)));
    heading(look, "What the replay reads");
    if (!model.arrays_note.empty()) {
      wrapped_text(look.ui().text_dim, model.arrays_note);
      return;
    }
    draw_legend(look);
    for (const PaddedGroup& group : model.groups) {
      ImGui::Dummy(ImVec2(0, look.px(2)));
      ImGui::TextUnformatted(group.title.c_str());
      ImGui::SameLine();
      wrapped_text(group.stale ? look.ui().warning : look.ui().text_dim,
                   (group.stale ? "! stale: " : "") + group.note);
      for (const PaddedArray& array : group.arrays) draw_array(look, array);
    }
  }

  static void draw_legend(const Look& look) {
    const auto item = [&](PaddedPart part, const char* words) {
      const float side = ImGui::GetTextLineHeight();
      flow(side + look.px(4) + ImGui::CalcTextSize(words).x, look.px(12));
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ImGui::Dummy(ImVec2(side, side));
      draw_element_box(*ImGui::GetWindowDrawList(), look, {at, ImVec2(at.x + side, at.y + side)},
                       part, "");
      ImGui::SameLine(0, look.px(4));
      dim_text(look, words);
    };
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float side = ImGui::GetTextLineHeight();
    ImGui::Dummy(ImVec2(side, side));
    draw_element_box(*ImGui::GetWindowDrawList(), look, {at, ImVec2(at.x + side, at.y + side)},
                     PaddedPart::real, "");
    ImGui::SameLine(0, look.px(4));
    dim_text(look, kRealRow);
    item(PaddedPart::padding, kPaddingRow.data());
    item(PaddedPart::no_row, kNoRow.data());
    item(PaddedPart::left_over, kNotWritten.data());
  }

  static CellRole role_of(PaddedPart part) {
    if (part == PaddedPart::padding) return CellRole::padding;
    return part == PaddedPart::no_row ? CellRole::free_block : CellRole::stale;
  }

  static void draw_element_box(ImDrawList& list, const Look& look, const CellBox& box,
                               PaddedPart part, const std::string& text) {
    if (part == PaddedPart::real) {
      list.AddRectFilled(box.min, box.max, packed(look.ui().selection));
      ImFont* font = look.fonts.small;
      const ImVec2 size = font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, text.c_str());
      list.AddText(
          font, font->FontSize,
          ImVec2((box.min.x + box.max.x - size.x) / 2, (box.min.y + box.max.y - size.y) / 2),
          packed(look.ui().text), text.c_str());
      return;
    }
    draw_cell(list, look, box, {.block = 0, .role = role_of(part), .state = CellState::written},
              text);
  }

  static void draw_array(const Look& look, const PaddedArray& array) {
    const float indent = look.px(10);
    ImGui::Dummy(ImVec2(indent, 0));
    ImGui::SameLine(0, 0);
    ImGui::TextUnformatted(array.name.c_str());
    if (!array.note.empty()) {
      flow(ImGui::CalcTextSize(array.note.c_str()).x, look.px(8), indent);
      wrapped_text(look.ui().text_dim, array.note);
    }
    ImFont* font = look.fonts.small;
    const float height = font->FontSize + look.px(6);
    for (std::size_t i = 0; i < array.elements.size(); ++i) {
      const PaddedElement& element = array.elements[i];
      const float width = std::max(
          font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, element.text.c_str()).x + look.px(10),
          look.px(24));
      if (i == 0) {
        ImGui::Dummy(ImVec2(indent, height));
        ImGui::SameLine(0, 0);
      } else {
        flow(width, look.px(2), indent);
      }
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ImGui::Dummy(ImVec2(width, height));
      const CellBox box{at, ImVec2(at.x + width, at.y + height)};
      ImDrawList& list = *ImGui::GetWindowDrawList();
      if (element.part == PaddedPart::gap)
        list.AddText(font, font->FontSize, ImVec2(at.x + look.px(4), at.y + look.px(3)),
                     packed(look.ui().text_dim), element.text.c_str());
      else
        draw_element_box(list, look, box, element.part, element.text);
      if (array.stale)
        list.AddRect(box.min, box.max, packed(look.ui().warning), 0, 0, look.px(1.5F));
    }
  }

  Cached<GraphPaddingModel> model_;
};

}  // namespace

std::unique_ptr<Panel> make_graph_padding_panel() { return std::make_unique<GraphPaddingPanel>(); }

}  // namespace hybridscope
