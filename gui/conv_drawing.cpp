#include "gui/conv_drawing.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gui/cell_drawing.h"
#include "gui/widgets.h"

namespace hybridscope {

ImU32 conv_copy_colour(const Look& look) { return packed(look.theme.palette.conv_copy); }

namespace {

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

}  // namespace hybridscope
