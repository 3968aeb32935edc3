#include "gui/cell_drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/ids.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Below this height a cell has no room for its pattern and marks.
constexpr float kLeastPatternPixels = 9.0F;
// Points: from these heights on cells have larger letters.
constexpr float kLeastForFixed = 30;
constexpr float kLeastForLarge = 56;

// The text of a cell; without a font there is none.
struct CellText {
  std::string_view words;
  ImFont* font = nullptr;
  ImVec2 size = ImVec2(0, 0);
};

// Lines are cut at the box here: each clip rectangle would be a draw call.
void draw_slanted(ImDrawList& list, const CellBox& box, ImU32 line, float gap, float direction) {
  const float height = box.max.y - box.min.y;
  const float width = box.max.x - box.min.x;
  for (float offset = -height; offset < width; offset += gap) {
    const float left = box.min.x + offset;
    const float bottom = direction > 0 ? box.max.y : box.min.y;
    const float top = direction > 0 ? box.min.y : box.max.y;
    const float from = std::max(-offset / height, 0.0F);
    const float to = std::min((width - offset) / height, 1.0F);
    list.AddLine(ImVec2(left + from * height, bottom + from * (top - bottom)),
                 ImVec2(left + to * height, bottom + to * (top - bottom)), line);
  }
}

// Draws dots, but for those that the plate of the text would hide.
void draw_dots(ImDrawList& list, const CellBox& box, const CellBox& plate, ImU32 line, float gap) {
  const auto is_hidden = [&](float x, float y) {
    return x >= plate.min.x && x + 1 <= plate.max.x && y >= plate.min.y && y + 1 <= plate.max.y;
  };
  for (float y = box.min.y + gap / 2; y + 1 <= box.max.y; y += gap)
    for (float x = box.min.x + gap / 2; x + 1 <= box.max.x; x += gap)
      if (!is_hidden(x, y)) list.AddRectFilled(ImVec2(x, y), ImVec2(x + 1, y + 1), line);
}

void draw_rows(ImDrawList& list, const CellBox& box, ImU32 line, float gap) {
  for (float y = box.min.y + gap; y < box.max.y; y += gap)
    list.AddLine(ImVec2(box.min.x, y), ImVec2(box.max.x, y), line);
}

void draw_columns(ImDrawList& list, const CellBox& box, ImU32 line, float gap) {
  for (float x = box.min.x + gap; x < box.max.x; x += gap)
    list.AddLine(ImVec2(x, box.min.y), ImVec2(x, box.max.y), line);
}

void draw_pattern(ImDrawList& list, const Look& look, const CellBox& box, const CellBox& plate,
                  const CellStyle& style) {
  const ImU32 line = packed({style.line.r, style.line.g, style.line.b, 110});
  const float gap = look.px(6);
  switch (style.pattern) {
    case CellPattern::none: break;
    case CellPattern::hatch: draw_slanted(list, box, line, gap, 1); break;
    case CellPattern::back_hatch: draw_slanted(list, box, line, gap, -1); break;
    case CellPattern::dots: draw_dots(list, box, plate, line, gap); break;
    case CellPattern::grid:
      draw_rows(list, box, line, gap);
      draw_columns(list, box, line, gap);
      break;
    case CellPattern::cross:
      list.AddLine(box.min, box.max, line);
      list.AddLine(ImVec2(box.min.x, box.max.y), ImVec2(box.max.x, box.min.y), line);
      break;
    case CellPattern::outline:
      list.AddRect(ImVec2(box.min.x + 1, box.min.y + 1), ImVec2(box.max.x - 1, box.max.y - 1),
                   packed(style.line));
      break;
    case CellPattern::stripes: draw_rows(list, box, line, gap); break;
    case CellPattern::base_line:
      list.AddRectFilled(ImVec2(box.min.x, box.max.y - look.px(3)), box.max, packed(style.line));
      break;
  }
}

Rgba halfway(Rgba a, Rgba b) {
  const auto mean = [](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>((x + y) / 2);
  };
  return {mean(a.r, b.r), mean(a.g, b.g), mean(a.b, b.b)};
}

// A sign of a few pixels around `centre`.
void draw_sign(ImDrawList& list, MarkShape shape, ImVec2 centre, float radius, ImU32 colour) {
  const float stroke = std::max(1.5F, radius * 0.45F);
  switch (shape) {
    case MarkShape::ring: list.AddCircle(centre, radius * 0.75F, colour, 12, stroke); break;
    case MarkShape::tick: {
      const std::array<ImVec2, 3> points{
          ImVec2(centre.x - radius, centre.y),
          ImVec2(centre.x - radius * 0.25F, centre.y + radius * 0.7F),
          ImVec2(centre.x + radius, centre.y - radius * 0.7F)};
      list.AddPolyline(points.data(), static_cast<int>(points.size()), colour, 0, stroke);
      break;
    }
    case MarkShape::cross:
      list.AddLine(ImVec2(centre.x - radius, centre.y - radius),
                   ImVec2(centre.x + radius, centre.y + radius), colour, stroke);
      list.AddLine(ImVec2(centre.x - radius, centre.y + radius),
                   ImVec2(centre.x + radius, centre.y - radius), colour, stroke);
      break;
    case MarkShape::question:
      list.AddRectFilled(ImVec2(centre.x - radius, centre.y - radius * 0.3F),
                         ImVec2(centre.x + radius, centre.y + radius * 0.3F), colour);
      break;
    case MarkShape::corner:
      list.AddTriangleFilled(ImVec2(centre.x - radius, centre.y - radius),
                             ImVec2(centre.x + radius, centre.y - radius),
                             ImVec2(centre.x + radius, centre.y + radius), colour);
      break;
  }
}

void draw_mark(ImDrawList& list, const CellMark& mark, ImVec2 centre, float radius) {
  list.AddRectFilled(ImVec2(centre.x - radius - 1, centre.y - radius - 1),
                     ImVec2(centre.x + radius + 1, centre.y + radius + 1), packed(mark.plate));
  draw_sign(list, mark.shape, centre, radius, packed(mark.colour));
}

// The part of the block behind the prefix that ends inside it: faint, behind a line.
void draw_partial(ImDrawList& list, const Look& look, const CellBox& box, const BlockCell& cell,
                  const CellStyle& style) {
  const float share = static_cast<float>(cell.partial_tokens) / static_cast<float>(cell.block_size);
  const float x = std::floor(box.min.x + (box.max.x - box.min.x) * share);
  list.AddRectFilled(ImVec2(x, box.min.y), box.max, packed(look.ui().panel));
  list.AddRect(ImVec2(x, box.min.y), box.max, packed(style.fill), 0, 0, 1);
  list.AddRectFilled(ImVec2(x, box.min.y), ImVec2(x + look.px(2), box.max.y),
                     packed(look.ui().text));
}

bool has_plate(const BlockCell& cell, const CellStyle& style) {
  return cell.partial_tokens > 0 ||
         (style.pattern != CellPattern::none && style.pattern != CellPattern::base_line);
}

// A diamond between the arrows for reads and writes.
void draw_checkpoint(ImDrawList& list, const CellLayout& layout) {
  const ImVec2 at = layout.checkpoint;
  const auto diamond = [&](float r, Rgba colour) {
    list.AddQuadFilled(ImVec2(at.x, at.y - r), ImVec2(at.x + r, at.y), ImVec2(at.x, at.y + r),
                       ImVec2(at.x - r, at.y), packed(colour));
  };
  diamond(layout.radius + 1.5F, changed_mark().plate);
  diamond(layout.radius, rgb(0xFFFFFF));
}

// The background of the text on a pattern; empty: it has none.
CellBox text_plate(const BlockCell& cell, const CellStyle& style, const CellText& text,
                   const CellLayout& layout) {
  const ImVec2 at = layout.text;
  if (text.font == nullptr || !has_plate(cell, style)) return {at, at};
  return {ImVec2(at.x - 2, at.y), ImVec2(at.x + text.size.x + 2, at.y + text.size.y)};
}

void draw_cell_text(ImDrawList& list, const CellStyle& style, const CellText& text,
                    const CellLayout& layout, const CellBox& plate) {
  if (text.font == nullptr) return;
  if (plate.max.x > plate.min.x) list.AddRectFilled(plate.min, plate.max, packed(style.fill));
  list.AddText(text.font, text.font->FontSize, layout.text, packed(style.text), text.words.data(),
               text.words.data() + text.words.size());
}

// An arrow up, out of the cell, for a read; down, into it, for a write.
void draw_use(ImDrawList& list, const CellLayout& layout, const BlockCell& cell,
              const CellStyle& style) {
  const auto arrow = [&](const CellBox& box, float tip, float back) {
    list.AddTriangleFilled(ImVec2((box.min.x + box.max.x) / 2, tip), ImVec2(box.min.x, back),
                           ImVec2(box.max.x, back), packed(style.text));
  };
  if (cell.use.read) arrow(layout.read, layout.read.min.y, layout.read.max.y);
  if (cell.use.written) arrow(layout.written, layout.written.max.y, layout.written.min.y);
}

void draw_corner(ImDrawList& list, const CellBox& box, float side, float edge) {
  const auto corner = [&](float length, Rgba colour) {
    list.AddTriangleFilled(ImVec2(box.max.x - length, box.min.y), ImVec2(box.max.x, box.min.y),
                           ImVec2(box.max.x, box.min.y + length), packed(colour));
  };
  corner(side + edge, changed_mark().plate);
  corner(side, changed_mark().colour);
}

// In large cells the letters are larger too.
CellText fitting_text(const Look& look, const CellBox& box, std::string_view words) {
  const ImVec2 room(box.max.x - box.min.x, box.max.y - box.min.y);
  CellText text{.words = words};
  if (words.empty()) return text;
  const std::array<std::pair<ImFont*, float>, 3> fonts{{{look.fonts.large, kLeastForLarge},
                                                        {look.fonts.fixed, kLeastForFixed},
                                                        {look.fonts.small, 0.0F}}};
  for (const auto& [font, least] : fonts) {
    if (room.y < look.px(least)) continue;
    text.font = font;
    text.size =
        font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, words.data(), words.data() + words.size());
    if (text.size.x <= room.x && text.size.y <= room.y) return text;
  }
  return {};
}

}  // namespace

void draw_cell(ImDrawList& list, const Look& look, const CellBox& box, const BlockCell& cell,
               std::string_view text) {
  const CellStyle style = cell_style(look.theme, cell.role);
  list.AddRectFilled(box.min, box.max, packed(style.fill));
  const float height = box.max.y - box.min.y;
  if (height < look.px(kLeastPatternPixels)) return;
  const CellText words = fitting_text(look, box, text);
  const CellLayout layout = cell_layout(box, cell, words.size, look.px(1));
  const CellBox plate = text_plate(cell, style, words, layout);
  draw_pattern(list, look, box, plate, style);
  if (cell.partial_tokens > 0) draw_partial(list, look, box, cell, style);
  const auto mark = state_mark(cell.state);
  if (mark && cell.role != CellRole::null_block)
    draw_mark(list, *mark, layout.badge, layout.radius);
  if (cell.changed) draw_corner(list, box, layout.corner, layout.edge);
  if (has_left_signs(cell)) draw_use(list, layout, cell, style);
  if (cell.checkpoint > 0) draw_checkpoint(list, layout);
  draw_cell_text(list, style, words, layout, plate);
  if (mark && cell.state == CellState::wrong)
    list.AddRect(box.min, box.max, packed(mark->colour), 0, 0, look.px(2));
}

void draw_filled(ImDrawList& list, const Look& look, const CellBox& box, const CellStyle& style,
                 std::string_view text) {
  list.AddRectFilled(box.min, box.max, packed(style.fill));
  if (box.max.y - box.min.y < look.px(kLeastPatternPixels)) return;
  const BlockCell plain{.state = CellState::written};
  const CellText words = fitting_text(look, box, text);
  const CellLayout layout = cell_layout(box, plain, words.size, look.px(1));
  const CellBox plate = text_plate(plain, style, words, layout);
  draw_pattern(list, look, box, plate, style);
  draw_cell_text(list, style, words, layout, plate);
}

void draw_missing(ImDrawList& list, const Look& look, const CellBox& box) {
  draw_slanted(list, box, packed(look.ui().text_dim), look.px(5), 1);
}

void draw_changed_corner(ImDrawList& list, const Look& look, const CellBox& box) {
  draw_corner(list, box, look.px(7), look.px(2.5F));
}

ImU32 cell_pixel(const Look& look, const BlockCell& cell) {
  if (cell.block < 0) return packed(look.ui().panel);
  if (cell.state == CellState::wrong) return packed(state_mark(cell.state)->colour);
  const CellStyle style = cell_style(look.theme, cell.role);
  // A free block is filled like the panel, and has an outline where there is room for one.
  if (cell.role == CellRole::free_block) return packed(halfway(style.fill, style.line));
  return packed(style.fill);
}

void draw_small_marks(ImDrawList& list, const CellBox& box, const BlockCell& cell) {
  if (cell.block <= kNullBlock) return;
  const float side = std::max(2.0F, std::floor((box.max.y - box.min.y) * 0.35F));
  if (cell.changed)
    list.AddRectFilled(ImVec2(box.max.x - side, box.min.y), ImVec2(box.max.x, box.min.y + side),
                       packed(changed_mark().colour));
  if (cell.state == CellState::unwritten)
    list.AddRectFilled(ImVec2(box.max.x - side, box.max.y - side), box.max,
                       packed(state_mark(cell.state)->colour));
}

namespace {

// From `at` along one axis for `length`, on a background line, so they are visible on any fill.
void draw_dashes(ImDrawList& list, const Look& look, ImVec2 at, float length, bool along_x,
                 Rgba dash) {
  const float thick = std::max(1.0F, std::floor(look.px(2)));
  const auto piece = [&](float from, float to, Rgba colour) {
    list.AddRectFilled(along_x ? ImVec2(at.x + from, at.y) : ImVec2(at.x, at.y + from),
                       along_x ? ImVec2(at.x + to, at.y + thick) : ImVec2(at.x + thick, at.y + to),
                       packed(colour));
  };
  piece(0, length, look.ui().background);
  for (float from = 0; from < length; from += look.px(6))
    piece(from, std::min(from + look.px(3), length), dash);
}

void draw_dashed(ImDrawList& list, const Look& look, const CellBox& box) {
  const float thick = std::max(1.0F, std::floor(look.px(2)));
  const float width = box.max.x - box.min.x;
  const float height = box.max.y - box.min.y;
  const Rgba dash = look.ui().text;
  draw_dashes(list, look, box.min, width, true, dash);
  draw_dashes(list, look, ImVec2(box.min.x, box.max.y - thick), width, true, dash);
  draw_dashes(list, look, box.min, height, false, dash);
  draw_dashes(list, look, ImVec2(box.max.x - thick, box.min.y), height, false, dash);
}

}  // namespace

// Without sides, which would cover the first letter.
void draw_row_differs(const Look& look) {
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const ImVec2 window = ImGui::GetWindowPos();
  const float width = ImGui::GetWindowWidth();
  const float top = ImGui::GetItemRectMin().y;
  const float bottom = ImGui::GetItemRectMax().y - std::max(1.0F, std::floor(look.px(2)));
  // The cell's own clip rectangle ends with its column.
  list.PushClipRect(ImVec2(window.x, list.GetClipRectMin().y),
                    ImVec2(window.x + width, list.GetClipRectMax().y), false);
  draw_dashes(list, look, ImVec2(window.x, top), width, true, look.ui().text_dim);
  draw_dashes(list, look, ImVec2(window.x, bottom), width, true, look.ui().text_dim);
  list.PopClipRect();
}

void draw_frame(ImDrawList& list, const Look& look, const CellBox& box, FrameKind kind) {
  if (kind == FrameKind::differs) {
    draw_dashed(list, look,
                {ImVec2(box.min.x - 1, box.min.y - 1), ImVec2(box.max.x + 1, box.max.y + 1)});
    return;
  }
  const float thickness = look.px(kind == FrameKind::selected ? 2.5F : 1.5F);
  list.AddRect(ImVec2(box.min.x - 1, box.min.y - 1), ImVec2(box.max.x + 1, box.max.y + 1),
               packed(look.ui().focus), 0, 0, thickness);
}

}  // namespace hybridscope
