#include "gui/strip_view.h"

#include <algorithm>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kLeastTitle = 84;
constexpr float kLeastStrip = 100;
constexpr float kLeastTick = 3;  // between two ticks

// Where the tokens of a strip are.
struct Bar {
  ImVec2 origin;
  float token = 1;  // width
  float height = 0;

  float x(std::int32_t tokens) const { return origin.x + token * static_cast<float>(tokens); }
  CellBox box(const StripPart& part) const {
    return {ImVec2(x(part.first), origin.y),
            ImVec2(std::max(x(part.last) - 1, x(part.first) + 1), origin.y + height)};
  }
};

// What fits of a part's words.
std::string shown_in(const StripPart& part, float room) {
  for (const std::string* words : {&part.words, &part.text})
    if (text_width(ImGui::GetFont(), *words) < room) return *words;
  return {};
}

void draw_shape(ImDrawList& list, const Look& look, const StripPart& part, const CellBox& box) {
  if (part.role)
    return draw_cell(list, look, box, {.block = 1, .role = *part.role, .state = CellState::written},
                     part.text);
  switch (part.shape) {
    case StripPart::Shape::field:
      return list.AddRectFilled(box.min, box.max,
                                packed(part.is_selected ? look.ui().selection : look.ui().field));
    case StripPart::Shape::outline:
      return list.AddRect(box.min, box.max, packed(look.ui().text_dim), 0, 0, look.px(1));
    case StripPart::Shape::missing: return draw_missing(list, look, box);
    case StripPart::Shape::frame:
      return list.AddRect(box.min, box.max, packed(look.ui().focus), 0, 0, look.px(2));
  }
}

void draw_part(PanelContext& context, const StripPart& part, const CellBox& box) {
  const Look& look = context.look;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_shape(list, look, part, box);
  if (part.series >= 0)
    list.AddRectFilled(
        ImVec2(box.min.x, box.max.y - look.px(4)), box.max,
        packed(series_style(look.theme, static_cast<std::size_t>(part.series)).colour));
  if (part.is_last)
    list.AddRectFilled(ImVec2(box.max.x - look.px(3), box.min.y), box.max, packed(look.ui().text));
  if (!part.role && part.shape != StripPart::Shape::frame)
    draw_centred_text(list, ImGui::GetFont(),
                      ImVec2((box.min.x + box.max.x) / 2, box.min.y + look.px(3)),
                      packed(look.ui().text), shown_in(part, box.max.x - box.min.x));
  if (!part.mark.empty()) context.mark(part.mark, {box.min, box.max});
  if (!ImGui::IsItemHovered() || !ImGui::IsMouseHoveringRect(box.min, box.max)) return;
  if (!part.facts.empty()) facts_tooltip(look, part.facts);
  if (ImGui::IsMouseClicked(ImGuiMouseButton_Left)) context.emit(part.clicks);
}

void draw_signs(const Look& look, const Strip& strip, const Bar& bar) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const float bottom = bar.origin.y + bar.height;
  if (strip.tick > 0 && bar.token * static_cast<float>(strip.tick) > look.px(kLeastTick))
    for (std::int32_t token = strip.tick; token < strip.num_tokens; token += strip.tick)
      list.AddLine(ImVec2(bar.x(token), bar.origin.y), ImVec2(bar.x(token), bottom),
                   packed(look.ui().border));
  const float side = look.px(4);
  for (const std::int32_t token : strip.marked) {
    const float x = bar.x(token) - 1;
    list.AddTriangleFilled(ImVec2(x - side, bottom + side * 1.5F),
                           ImVec2(x + side, bottom + side * 1.5F), ImVec2(x, bottom),
                           packed(look.ui().warning));
  }
}

}  // namespace

void draw_strips(PanelContext& context, const std::vector<Strip>& strips) {
  const Look& look = context.look;
  float titles = look.px(kLeastTitle);
  for (const Strip& strip : strips)
    titles = std::max(titles, text_width(ImGui::GetFont(), strip.title) + look.px(8));
  for (const Strip& strip : strips) {
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float width =
        std::max(ImGui::GetContentRegionAvail().x - titles - look.px(8), look.px(kLeastStrip));
    const Bar bar{.origin = ImVec2(at.x + titles, at.y),
                  .token = width / static_cast<float>(std::max(strip.num_tokens, 1)),
                  .height = ImGui::GetTextLineHeight() + look.px(6)};
    ImGui::Dummy(ImVec2(titles + width, bar.height + (strip.marked.empty() ? 0 : look.px(6))));
    ImDrawList& list = *ImGui::GetWindowDrawList();
    draw_text(list, ImGui::GetFont(), ImVec2(at.x, at.y + look.px(3)), packed(look.ui().text_dim),
              strip.title);
    if (!strip.help.empty() && ImGui::GetMousePos().x < bar.origin.x) tooltip(strip.help);
    for (const StripPart& part : strip.parts) draw_part(context, part, bar.box(part));
    draw_signs(look, strip, bar);
  }
}

}  // namespace hybridscope
