#include "gui/table_cells.h"

#include <fmt/core.h>

#include <algorithm>

#include "gui/cell_drawing.h"
#include "gui/table_view.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points.
constexpr float kBar = 90;       // behind the widest value
constexpr float kPieceGap = 13;  // between values

bool is_button(const TableCell& cell) {
  return cell.extras != nullptr && !cell.extras->clicks.empty();
}
bool has_choices(const TableCell& cell) {
  return cell.extras != nullptr && !cell.extras->choices.empty();
}

// A button as high as a line of text; a flag is a check box.
void draw_button(PanelContext& context, const TableCell& cell) {
  const CellExtras& extras = *cell.extras;
  bool pressed = false;
  if (const auto* flag = std::get_if<bool>(&cell.value)) {
    bool is_on = *flag;
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(0, 0));
    pressed = ImGui::Checkbox(("##" + extras.mark).c_str(), &is_on);
    ImGui::PopStyleVar();
  } else {
    pressed = ImGui::SmallButton((shown_words(cell) + "##" + extras.mark).c_str());
  }
  if (pressed) context.emit(extras.clicks);
  context.mark(extras.mark);
  if (!extras.tooltip.empty()) tooltip(extras.tooltip);
}

void draw_choices(PanelContext& context, const TableCell& cell) {
  const CellExtras& extras = *cell.extras;
  const std::string chosen = shown_words(cell);
  ImGui::SetNextItemWidth(-1);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(ImGui::GetStyle().FramePadding.x, 0));
  const bool open = ImGui::BeginCombo(("##" + extras.mark).c_str(), chosen.c_str());
  ImGui::PopStyleVar();
  context.mark(extras.mark);
  if (!open) {
    if (!extras.tooltip.empty()) tooltip(extras.tooltip);
    return;
  }
  for (const Choice& choice : extras.choices) {
    if (ImGui::Selectable(choice.words.c_str(), choice.words == chosen))
      context.emit({choice.click});
    context.mark(fmt::format("{} {}", extras.mark, choice.words));
  }
  ImGui::EndCombo();
}

// A piece at `at`, which is a cell of a role, or a value with its marks.
void draw_piece(const Look& look, const ValuePiece& piece, ImVec2 at, float width) {
  ImFont* const font = look.fonts.fixed;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  const CellBox box{ImVec2(at.x - look.px(2), at.y),
                    ImVec2(at.x + width + look.px(10), at.y + ImGui::GetTextLineHeight())};
  if (piece.role)
    return draw_cell(list, look, box,
                     {.block = 0, .role = *piece.role, .state = CellState::written}, piece.text);
  if (piece.selected) list.AddRectFilled(box.min, box.max, packed(look.ui().selection));
  const Rgba colour = piece.is_left_out ? look.ui().text_dim : look.ui().text;
  draw_text(list, font, at, packed(colour), piece.text);
  if (piece.changed) draw_changed_corner(list, look, box);
}

// Draws as many values as fit, then how many they are; or all pieces, over several lines.
void draw_pieces(const Look& look, const CellExtras& extras, bool wraps) {
  ImFont* const font = look.fonts.fixed;
  const ImVec2 start = ImGui::GetCursorScreenPos();
  const float room = ImGui::GetContentRegionAvail().x;
  const float line = ImGui::GetTextLineHeight();
  const float gap = look.px(kPieceGap);
  float all = 0;
  std::int64_t in_pieces = 0;
  for (const ValuePiece& piece : extras.pieces) {
    all += text_width(font, piece.text) + gap;
    in_pieces += piece.elements;
  }
  const std::string most = fmt::format("{0} of {0}", extras.num_values);
  const bool is_whole = wraps || (in_pieces == extras.num_values && all <= room);
  const float right =
      start.x + room - (is_whole ? 0 : text_width(ImGui::GetFont(), most) + look.px(6));
  ImVec2 at = start;
  std::int64_t shown = 0;
  for (const ValuePiece& piece : extras.pieces) {
    const float width = text_width(font, piece.text);
    const bool fits = at.x + width <= right;
    if (!fits && !wraps && shown > 0) break;
    if (!fits && wraps && at.x > start.x) at = ImVec2(start.x, at.y + line + look.px(2));
    draw_piece(look, piece, at, width);
    at.x += width + gap;
    shown += piece.elements;
  }
  ImGui::Dummy(ImVec2(room, at.y + line - start.y));
  if (wraps || shown == extras.num_values) return;
  const std::string count = fmt::format("{} of {}", shown, extras.num_values);
  draw_text(*ImGui::GetWindowDrawList(), ImGui::GetFont(), at, packed(look.ui().text_dim), count);
}

// At the right end of the cell.
void draw_bar(const Look& look, float share) {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float most = std::min(ImGui::GetContentRegionAvail().x, look.px(kBar));
  const ImVec2 from(at.x + ImGui::GetContentRegionAvail().x - most, at.y + look.px(2));
  const ImVec2 to(from.x + std::max(most * share, look.px(1)),
                  at.y + ImGui::GetTextLineHeight() - look.px(2));
  ImGui::GetWindowDrawList()->AddRectFilled(from, to, packed(look.ui().accent));
}

}  // namespace

bool takes_clicks(const TableCell& cell) { return is_button(cell) || has_choices(cell); }

float cell_width(const Look& look, ImFont* font, const TableCell& cell, const std::string& text) {
  const float padding = 2 * ImGui::GetStyle().FramePadding.x;
  float width = text_width(font, text);
  if (cell.extras == nullptr) return width + 1;
  for (const Choice& choice : cell.extras->choices)
    width = std::max(width, text_width(font, choice.words));
  if (has_choices(cell)) width += ImGui::GetFrameHeight() + padding;
  if (is_button(cell)) width += padding;
  if (cell.extras->share >= 0) width += look.px(kBar + kPieceGap);
  if (cell.extras->pieces.empty()) return width + 1;
  width = 0;
  for (const ValuePiece& piece : cell.extras->pieces)
    width += text_width(look.fonts.fixed, piece.text) + look.px(kPieceGap);
  return width + 1;
}

void draw_line_above(PanelContext& context, const TableCell& line) {
  if (is_button(line)) return draw_button(context, line);
  wrapped_text(colour_of(context.look, line.tone), shown_words(line));
}

bool draw_extras(PanelContext& context, const TableCell& cell, bool wraps) {
  if (cell.extras == nullptr) return false;
  if (is_button(cell))
    draw_button(context, cell);
  else if (has_choices(cell))
    draw_choices(context, cell);
  else if (!cell.extras->pieces.empty())
    draw_pieces(context.look, *cell.extras, wraps);
  else if (cell.extras->share >= 0)
    draw_bar(context.look, cell.extras->share);
  return takes_clicks(cell) || !cell.extras->pieces.empty();
}

}  // namespace hybridscope
