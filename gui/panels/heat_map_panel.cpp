#include "gui/panels/panels.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/cell_drawing.h"
#include "gui/model/heat_map_model.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kCellWidth = 42;
constexpr float kCellHeight = 24;
constexpr float kOlder = 4;  // an earlier step's cell is smaller on each side
constexpr float kLeastHeatMap = 90;

class HeatMapPanel final : public Panel {
 public:
  void draw(PanelContext& context) override {
    const HeatMapModel& model = model_.get(context.workbench, [&] {
      return make_heat_map_model(*context.workbench.run(), context.workbench.selection());
    });
    if (!model.empty.empty()) {
      wrapped_dim_text(context.look, model.empty);
      return;
    }
    wrapped_dim_text(context.look, model.model + ". " + std::string(kHeatMapWords));
    if (!model.progress.empty()) wrapped_text(context.look.ui().info, model.progress);
    draw_first(context, model);
    draw_legend(context.look);
    float below = 0;
    for (const std::string& line : model.selected)
      below +=
          wrapped_height(line, ImGui::GetContentRegionAvail().x) + ImGui::GetStyle().ItemSpacing.y;
    const float room = ImGui::GetContentRegionAvail().y - below;
    ImGui::BeginChild("map", ImVec2(0, std::max(room, context.look.px(kLeastHeatMap))), false,
                      ImGuiWindowFlags_HorizontalScrollbar);
    draw_map(context, model);
    ImGui::EndChild();
    for (const std::string& line : model.selected) wrapped_text(line);
  }

 private:
  static void draw_first(PanelContext& context, const HeatMapModel& model) {
    if (model.first.empty()) return;
    wrapped_text(context.look.ui().error, model.first);
    const bool goes = ImGui::SmallButton("Go there");
    context.mark("first wrong state");
    if (!goes) return;
    context.emit("run.go_to", fmt::format("{}", model.first_step));
    context.emit("select.block", fmt::format("{}", model.first_block));
  }

  static CellStyle style_of(const Look& look, HeatLevel level) {
    const auto at = static_cast<std::size_t>(level);
    if (level == HeatLevel::not_compared)
      return {.fill = look.ui().panel,
              .text = look.ui().text_dim,
              .line = look.ui().grid,
              .pattern = CellPattern::outline};
    const HeatStyle style = heat_style(look.theme.kind, at - 1);
    return {.fill = style.fill, .text = style.text, .line = style.text};
  }

  static void draw_legend(const Look& look) {
    const float side = ImGui::GetTextLineHeight();
    for (std::size_t i = 0; i < kNumHeatLevels; ++i) {
      const std::string words(kHeatWords[i]);
      if (i > 0) flow(side + look.px(4) + ImGui::CalcTextSize(words.c_str()).x, look.px(12));
      const ImVec2 at = ImGui::GetCursorScreenPos();
      ImGui::Dummy(ImVec2(side, side));
      draw_filled(*ImGui::GetWindowDrawList(), look, {at, ImVec2(at.x + side, at.y + side)},
                  style_of(look, static_cast<HeatLevel>(i)), i == 1 ? "=" : "");
      ImGui::SameLine(0, look.px(4));
      ImGui::TextUnformatted(words.c_str());
    }
  }

  static float names_width(const Look& look, const HeatMapModel& model) {
    float widest = text_width(look.fonts.words, "Block");
    for (const HeatLayer& layer : model.layers)
      widest = std::max(widest, text_width(look.fonts.words, layer.words));
    return widest + look.px(10);
  }

  static void draw_map(PanelContext& context, const HeatMapModel& model) {
    if (model.blocks.empty()) return;
    const Look& look = context.look;
    const float wide = look.px(kCellWidth);
    const float high = look.px(kCellHeight);
    const float names = names_width(look, model);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("cells", ImVec2(names + wide * static_cast<float>(model.blocks.size()),
                                           high * static_cast<float>(model.layers.size() + 1)));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImU32 dim = packed(look.ui().text_dim);
    draw_text(list, look.fonts.words, at, dim, "Block");
    const std::int32_t selected = context.workbench.selection().block;
    for (std::size_t b = 0; b < model.blocks.size(); ++b) {
      const float left = at.x + names + wide * static_cast<float>(b);
      if (left + wide < list.GetClipRectMin().x || left > list.GetClipRectMax().x) continue;
      const bool is_selected = model.blocks[b] == selected;
      draw_centred_text(list, is_selected ? look.fonts.bold : look.fonts.words,
                        ImVec2(left + wide / 2, at.y),
                        packed(is_selected ? look.ui().accent : look.ui().text),
                        fmt::format("{}", model.blocks[b]));
      for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
        draw_heat(context, model, layer, b,
                  ImVec2(left, at.y + high * static_cast<float>(layer + 1)));
      if (is_selected)
        draw_frame(list, look,
                   {ImVec2(left - 1, at.y + high - 1),
                    ImVec2(left + wide - 1,
                           at.y + high * static_cast<float>(model.layers.size() + 1) - 1)},
                   FrameKind::selected);
    }
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer)
      draw_text(list, look.fonts.words,
                ImVec2(at.x, at.y + high * static_cast<float>(layer + 1) + look.px(3)),
                packed(look.ui().text), model.layers[layer].words);
  }

  static void draw_heat(PanelContext& context, const HeatMapModel& model, std::size_t layer,
                        std::size_t block, ImVec2 min) {
    const Look& look = context.look;
    const HeatCell& cell = model.at(layer, block);
    const ImVec2 max(min.x + look.px(kCellWidth) - look.px(2),
                     min.y + look.px(kCellHeight) - look.px(2));
    const bool is_older =
        cell.level != HeatLevel::not_compared && cell.step != context.workbench.run()->step();
    const float inset = is_older ? look.px(kOlder) : 0;
    draw_filled(*ImGui::GetWindowDrawList(), look,
                {ImVec2(min.x + inset, min.y + inset), ImVec2(max.x - inset, max.y - inset)},
                style_of(look, cell.level), heat_words(cell));
    context.mark(fmt::format("heat {} {}", model.layers[layer].layer, model.blocks[block]),
                 {min, max});
    if (!ImGui::IsItemHovered() || !ImGui::IsMouseHoveringRect(min, max)) return;
    tooltip(describe_heat(model, context.workbench.run()->names(), layer, block));
    if (ImGui::IsItemClicked())
      context.emit("select.block", fmt::format("{}", model.blocks[block]));
  }

  Cached<HeatMapModel> model_;
};

}  // namespace

std::unique_ptr<Panel> make_heat_map_panel() { return std::make_unique<HeatMapPanel>(); }

}  // namespace hybridscope
