#include "gui/conv_drawing.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>

#include "gui/cell_drawing.h"
#include "gui/model/block_cell.h"
#include "gui/model/command_table.h"
#include "gui/widgets.h"

namespace hybridscope {

namespace {

// Points of scale 1, the same for the columns above: the words on the left, then cells.
constexpr float kCopyLabelWidth = 128;
constexpr float kCopyCellWidth = 36;
constexpr float kCopyCellHeight = 22;

// The colour of everything that belongs to a conv window.
ImU32 conv_copy_colour(const Look& look) { return packed(look.theme.palette.conv_copy); }

// Points of scale 1.
constexpr float kNumberHeight = 15;  // of position numbers
constexpr float kShiftHeight = 26;   // between source and destination

CellRole role_of(ConvHolds holds) {
  constexpr std::array<CellRole, kNumConvHolds> kRoles = {
      CellRole::free_block, CellRole::held,    CellRole::speculative,
      CellRole::null_block, CellRole::padding, CellRole::free_block};
  return kRoles[static_cast<std::size_t>(holds)];
}

std::string_view conv_text(const ConvPosition& position, std::string& store) {
  if (position.holds == ConvHolds::before_first) return "0";
  if (position.holds == ConvHolds::left_over || position.holds == ConvHolds::not_known) return "?";
  store = fmt::format("{}", position.token);
  return store;
}

std::string conv_words(const ConvPosition& position, std::size_t index) {
  std::string text = fmt::format("position {}: {}", index, conv_holds_name(position.holds));
  if (position.token > 0) text += fmt::format(" {}", position.token);
  if (position.holds == ConvHolds::before_first) text += ", zeros";
  if (position.holds == ConvHolds::left_over) text += ": left by an earlier write; not read";
  if (position.holds == ConvHolds::not_known)
    text += ": not the tokens that the decision assumes, or unknown";
  return text;
}

class ConvRows {
 public:
  ConvRows(const Look& look, ImVec2 at) : look_(look), at_(at) {}

  float left(std::size_t position) const {
    return at_.x + look_.px(kCopyLabelWidth) +
           look_.px(kCopyCellWidth) * static_cast<float>(position);
  }
  float centre(std::size_t position) const { return left(position) + look_.px(kCopyCellWidth) / 2; }

  void draw_row(const std::vector<ConvPosition>& positions, float y, std::string_view label) {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    ImFont* font = look_.fonts.small;
    draw_text(list, font, ImVec2(at_.x, y + (look_.px(kCopyCellHeight) - font->FontSize) / 2),
              packed(look_.ui().text), label);
    std::string store;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const CellBox box{ImVec2(left(i), y), ImVec2(left(i) + look_.px(kCopyCellWidth) - 2,
                                                   y + look_.px(kCopyCellHeight))};
      draw_cell(list, look_, box,
                {.block = 1, .role = role_of(positions[i].holds), .state = CellState::written},
                conv_text(positions[i], store));
      if (ImGui::IsMouseHoveringRect(box.min, box.max) && ImGui::IsWindowHovered()) {
        ImGui::BeginTooltip();
        ImGui::TextUnformatted(conv_words(positions[i], i).c_str());
        ImGui::EndTooltip();
      }
    }
    draw_window_frame(list, positions, y);
  }

  void draw_position_numbers(std::size_t count, float y) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImU32 dim = packed(look_.ui().text_dim);
    draw_text(list, look_.fonts.small, ImVec2(at_.x, y), dim, "conv position");
    for (std::size_t i = 0; i < count; ++i)
      draw_centred_text(list, look_.fonts.small, ImVec2(centre(i), y), dim, fmt::format("{}", i));
  }

  void draw_moves(const ConvCopy& copy, float from, float to) const {
    ImDrawList& list = *ImGui::GetWindowDrawList();
    for (std::size_t i = 0; i < copy.destination.size(); ++i) {
      if (!copy.destination[i].copied) continue;
      const float x = centre(i + static_cast<std::size_t>(copy.bias));
      list.AddLine(ImVec2(x, from + 2), ImVec2(centre(i), to - look_.px(6)),
                   conv_copy_colour(look_), look_.px(1.5F));
      draw_arrow_head(list, look_, ImVec2(centre(i), to - 1), 1, conv_copy_colour(look_));
    }
  }

 private:
  void draw_window_frame(ImDrawList& list, const std::vector<ConvPosition>& positions,
                         float y) const {
    std::size_t first = positions.size();
    std::size_t last = 0;
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (!positions[i].in_window) continue;
      first = std::min(first, i);
      last = i;
    }
    if (first == positions.size()) return;
    list.AddRect(ImVec2(left(first) - 2, y - 2),
                 ImVec2(left(last) + look_.px(kCopyCellWidth), y + look_.px(kCopyCellHeight) + 2),
                 conv_copy_colour(look_), 0, 0, look_.px(2));
  }

  const Look& look_;
  ImVec2 at_;
};

}  // namespace

float conv_copy_width(const Look& look, const StateCopyDrawing& drawing) {
  return look.px(kCopyLabelWidth + kCopyCellWidth * static_cast<float>(drawing.conv.source.size()));
}

void draw_conv_copy(const Look& look, const StateCopyDrawing& drawing) {
  const ConvCopy& copy = drawing.conv;
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ConvRows rows(look, at);
  const float source = at.y + look.px(kNumberHeight) + 4;
  const float destination = source + look.px(kCopyCellHeight + kShiftHeight);
  ImGui::Dummy(
      ImVec2(conv_copy_width(look, drawing), destination + look.px(kCopyCellHeight + 6) - at.y));
  rows.draw_position_numbers(copy.source.size(), at.y);
  rows.draw_row(copy.source, source, fmt::format("block {} before", drawing.conv_source.block));
  rows.draw_moves(copy, source + look.px(kCopyCellHeight), destination);
  rows.draw_row(copy.destination, destination,
                fmt::format("block {} after", drawing.destination.block));
}

void draw_conv_legend(const Look& look, const StateCopyDrawing& drawing) {
  const ConvCopy& copy = drawing.conv;
  SamplePlace place = SamplePlace::first;
  for (const ConvHolds holds : {ConvHolds::before_first, ConvHolds::token, ConvHolds::accepted,
                                ConvHolds::rejected, ConvHolds::left_over, ConvHolds::not_known}) {
    if (std::ranges::find(copy.source, holds, &ConvPosition::holds) == copy.source.end() &&
        std::ranges::find(copy.destination, holds, &ConvPosition::holds) == copy.destination.end())
      continue;
    draw_role_sample(look, role_of(holds), conv_holds_name(holds), place);
    place = SamplePlace::next;
  }
}

namespace {

// Points of scale 1.
constexpr float kArcHeight = 25;
constexpr float kColumnNumberHeight = 15;  // of column numbers
constexpr float kBlockCopyCellWidth = 96;
constexpr float kBlockCopyArrow = 56;

// The colour of copies of the temporal state and of whole blocks; the conv window has another one.
ImU32 temporal_colour(const Look& look) { return packed(look.theme.palette.copy); }

// From column to column on one side of the cells: direction 1 arrives from above, -1 from below.
// Equal columns: a loop.
struct Arc {
  float from = 0;
  float to = 0;
  float y = 0;
  float direction = 1;
  ImU32 colour = 0;
};
void draw_arc(ImDrawList& list, const Look& look, Arc arc) {
  const float height = look.px(kArcHeight) * 1.15F * arc.direction;
  float lean = 0;
  if (arc.from == arc.to) {
    arc.from -= look.px(9);
    arc.to += look.px(9);
    lean = look.px(10);
  }
  const float tip = arc.y - arc.direction * look.px(6);
  list.AddBezierCubic(ImVec2(arc.from, arc.y), ImVec2(arc.from - lean, arc.y - height),
                      ImVec2(arc.to + lean, arc.y - height), ImVec2(arc.to, tip), arc.colour,
                      look.px(2));
  draw_arrow_head(list, look, ImVec2(arc.to, arc.y), arc.direction, arc.colour);
}

// Where the cells of a drawing are.
struct ColumnLayout {
  const Look& look;
  const StateCopyDrawing& drawing;
  ImVec2 at;

  float top() const { return at.y + look.px(kArcHeight + kColumnNumberHeight); }
  float bottom() const { return top() + look.px(kCopyCellHeight); }
  float left(std::int32_t slot) const {
    return at.x + look.px(kCopyLabelWidth) + look.px(kCopyCellWidth) * static_cast<float>(slot);
  }
  float centre(const CopyPlace& place) const {
    return left(drawing.slot_of(place.column)) + look.px(kCopyCellWidth) / 2;
  }
  CellBox box(const CopyCell& cell) const {
    return {ImVec2(left(cell.slot), top()),
            ImVec2(left(cell.slot) + look.px(kCopyCellWidth) - 2, bottom())};
  }
};

void draw_labels(ImDrawList& list, const ColumnLayout& layout) {
  const Look& look = layout.look;
  ImFont* font = look.fonts.small;
  const float x = layout.at.x;
  if (layout.drawing.has_temporal)
    draw_text(list, font, ImVec2(x, layout.at.y + look.px(6)), temporal_colour(look),
              fmt::format("temporal S({})", layout.drawing.held_tokens));
  draw_text(list, font, ImVec2(x, layout.top() - look.px(kColumnNumberHeight)),
            packed(look.ui().text_dim), "column");
  draw_text(list, font, ImVec2(x, layout.top() + look.px(4)), packed(look.ui().text), "block");
  if (layout.drawing.has_conv)
    draw_text(list, font, ImVec2(x, layout.bottom() + look.px(8)), conv_copy_colour(look),
              "conv window");
}

void draw_dots(ImDrawList& list, const ColumnLayout& layout, std::int32_t slot) {
  draw_text(list, layout.look.fonts.small,
            ImVec2(layout.left(slot) + layout.look.px(4), layout.top() + layout.look.px(4)),
            packed(layout.look.ui().text_dim), "...");
}

// Is the mouse on this part of the button that was drawn last?
bool is_under_mouse(const CellBox& box) {
  return ImGui::IsItemHovered() && ImGui::IsMouseHoveringRect(box.min, box.max);
}

void draw_column(PanelContext& context, const ColumnLayout& layout, const CopyCell& shown) {
  const Look& look = layout.look;
  const CellBox box = layout.box(shown);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_centred_text(
      list, look.fonts.small,
      ImVec2((box.min.x + box.max.x) / 2, layout.top() - look.px(kColumnNumberHeight)),
      packed(look.ui().text_dim), fmt::format("{}", shown.column));
  draw_cell(list, look, box, shown.cell, fmt::format("{}", shown.cell.block));
  const Selection& selection = context.workbench.selection();
  if (shown.cell.block > 0 && shown.cell.block == selection.block)
    draw_frame(list, look, box,
               shown.column == selection.column && layout.drawing.group == selection.group
                   ? FrameKind::selected
                   : FrameKind::same_block);
  context.mark(fmt::format("copy cell {}", shown.column), {box.min, box.max});
  if (is_under_mouse(box)) cell_tooltip(look, shown.cell);
}

// A block and its place above it, at `left`. Returns whether the mouse is on the block.
bool draw_placed_block(PanelContext& context, const BlockCell& cell, std::int32_t column,
                       ImVec2 left) {
  const Look& look = context.look;
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_text(list, look.fonts.small, left, packed(look.ui().text_dim), copy_place_words(column));
  const float top = left.y + look.px(kColumnNumberHeight);
  const CellBox box{ImVec2(left.x, top),
                    ImVec2(left.x + look.px(kBlockCopyCellWidth), top + look.px(kCopyCellHeight))};
  draw_cell(list, look, box, cell, cell_words(cell));
  if (cell.block > 0 && cell.block == context.workbench.selection().block)
    draw_frame(list, look, box, FrameKind::same_block);
  context.mark(fmt::format("block copy {}", cell.block), {box.min, box.max});
  const bool is_here = is_under_mouse(box);
  if (is_here) cell_tooltip(look, cell);
  return is_here;
}

}  // namespace

void draw_block_copy(PanelContext& context, const BlockCopyDrawing& drawing) {
  const Look& look = context.look;
  const float cell = look.px(kBlockCopyCellWidth);
  const float arrow = look.px(kBlockCopyArrow);
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::PushID(drawing.destination.block);
  ImGui::InvisibleButton("block copy",
                         ImVec2(2 * cell + arrow, look.px(kColumnNumberHeight + kCopyCellHeight)));
  const bool clicked = ImGui::IsItemClicked();
  ImGui::PopID();
  const auto block = [&](const BlockCell& shown, std::int32_t column, float x) {
    if (draw_placed_block(context, shown, column, ImVec2(x, at.y)) && clicked)
      context.emit("select.block", fmt::format("{}", shown.block));
  };
  block(drawing.source, drawing.source_column, at.x);
  block(drawing.destination, drawing.destination_column, at.x + cell + arrow);
  const float y = at.y + look.px(kColumnNumberHeight + kCopyCellHeight / 2);
  const float tip = at.x + cell + arrow - look.px(3);
  const float head = look.px(7);
  ImDrawList& list = *ImGui::GetWindowDrawList();
  list.AddLine(ImVec2(at.x + cell + look.px(3), y), ImVec2(tip - head, y), temporal_colour(look),
               look.px(2));
  list.AddTriangleFilled(ImVec2(tip, y), ImVec2(tip - head, y - head * 0.6F),
                         ImVec2(tip - head, y + head * 0.6F), temporal_colour(look));
}

float copy_columns_width(const Look& look, const StateCopyDrawing& drawing) {
  const std::int32_t slots = drawing.cells.empty() ? 0 : drawing.cells.back().slot + 1;
  return look.px(kCopyLabelWidth + kCopyCellWidth * static_cast<float>(slots) + 20);
}

void draw_copy_columns(PanelContext& context, const StateCopyDrawing& drawing,
                       const std::string& request) {
  const Look& look = context.look;
  const ColumnLayout layout{look, drawing, ImGui::GetCursorScreenPos()};
  ImGui::InvisibleButton("columns",
                         ImVec2(copy_columns_width(look, drawing),
                                look.px(2 * kArcHeight + kColumnNumberHeight + kCopyCellHeight)));
  const bool clicked = ImGui::IsItemClicked();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_labels(list, layout);
  std::int32_t next_slot = 0;
  for (const CopyCell& cell : drawing.cells) {
    if (cell.slot > next_slot) draw_dots(list, layout, next_slot);
    next_slot = cell.slot + 1;
    draw_column(context, layout, cell);
    const CellBox box = layout.box(cell);
    if (clicked && ImGui::IsMouseHoveringRect(box.min, box.max))
      context.emit("select.cell", fmt::format("{} {} {} worker", quoted_word(request),
                                              drawing.group, cell.column));
  }
  if (drawing.goes_on) draw_dots(list, layout, next_slot);
  if (drawing.has_temporal)
    draw_arc(list, look,
             {.from = layout.centre(drawing.temporal_source),
              .to = layout.centre(drawing.destination),
              .y = layout.top() - look.px(kColumnNumberHeight) + 1,
              .direction = 1,
              .colour = temporal_colour(look)});
  if (drawing.has_conv)
    draw_arc(list, look,
             {.from = layout.centre(drawing.conv_source),
              .to = layout.centre(drawing.destination),
              .y = layout.bottom() + 1,
              .direction = -1,
              .colour = conv_copy_colour(look)});
}

}  // namespace hybridscope
