#include "gui/token_axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "gui/cell_drawing.h"
#include "gui/model/command_arguments.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// Points of scale 1.
constexpr float kLeastWidth = 5;       // of a row where there is room
constexpr float kNarrowest = 2;        // of a row in a large batch
constexpr float kLeastCell = 6;        // below it only the colour is drawn
constexpr float kShareOfLeast = 0.7F;  // of the room, for the least widths of all rows
constexpr float kBarHeight = 24;
constexpr float kLine = 16;
constexpr float kLeastMarked = 9;  // a narrower segment is not named for scripts

class Axis {
 public:
  Axis(PanelContext& context, const BatchRowsModel& model, float room)
      : context_(context),
        look_(context.look),
        model_(model),
        edges_(fit_axis(model.segments, {.room = room, .least = least_width(room)})) {}

  float width() const { return edges_.back(); }

  void draw() {
    at_ = ImGui::GetCursorScreenPos();
    ImGui::InvisibleButton("axis", ImVec2(width(), look_.px(kBarHeight + 2 * kLine)));
    draw_sections();
    draw_bar();
    handle_mouse();
  }

 private:
  // In a batch of many short rows some room is reserved for long ones.
  float least_width(float room) const {
    const auto count = static_cast<float>(model_.segments.size());
    return std::clamp(room * kShareOfLeast / count, look_.px(kNarrowest), look_.px(kLeastWidth));
  }
  ImDrawList& list() const { return *ImGui::GetWindowDrawList(); }
  float bar_top() const { return at_.y + look_.px(kLine); }
  float bar_bottom() const { return bar_top() + look_.px(kBarHeight); }
  float left(std::size_t segment) const { return std::floor(at_.x + edges_[segment]); }

  void write(ImVec2 at, std::string_view text, Rgba colour) const {
    draw_text(list(), look_.fonts.small, at, packed(colour), text);
  }
  float width_of(std::string_view text) const { return text_width(look_.fonts.small, text); }

  // A line at each border between sections, with labels above and token numbers below if there is
  // room.
  void draw_sections() const {
    float free_above = at_.x;
    float free_below = at_.x;
    const std::string end = fmt::format("{}", model_.num_tokens_padded);
    const float end_left = at_.x + width() - width_of(end);
    for (const AxisSection& section : model_.sections) {
      const float x = left(section.first_segment);
      const bool padding = model_.segments[section.first_segment].row < 0;
      list().AddLine(ImVec2(x, at_.y), ImVec2(x, bar_bottom() + look_.px(4)),
                     packed(look_.ui().text), look_.px(1));
      // The label of the last section may be left of its line.
      const bool fits = x + look_.px(3) + width_of(section.label) <= at_.x + width();
      const float label = fits ? x + look_.px(3) : x - look_.px(3) - width_of(section.label);
      if (label >= free_above) {
        write(ImVec2(label, at_.y), section.label, padding ? look_.ui().text_dim : look_.ui().text);
        free_above = label + width_of(section.label) + look_.px(8);
      }
      const std::string number =
          fmt::format("{}", model_.segments[section.first_segment].first_token);
      if (x + look_.px(3) >= free_below && x + width_of(number) + look_.px(10) < end_left) {
        write(ImVec2(x + look_.px(3), bar_bottom() + look_.px(1)), number, look_.ui().text_dim);
        free_below = x + width_of(number) + look_.px(10);
      }
    }
    write(ImVec2(end_left, bar_bottom() + look_.px(1)), end, look_.ui().text_dim);
  }

  void draw_bar() {
    const RequestId selected = context_.workbench.selection().request;
    const float clip_left = list().GetClipRectMin().x;
    const float clip_right = list().GetClipRectMax().x;
    for (std::size_t i = 0; i < model_.segments.size(); ++i) {
      const CellBox box{ImVec2(left(i), bar_top()),
                        ImVec2(std::max(left(i + 1) - 1, left(i) + 1), bar_bottom())};
      if (box.max.x < clip_left || box.min.x > clip_right) continue;
      const AxisSegment& segment = model_.segments[i];
      const CellStyle style = row_style(look_.theme, segment.row_class);
      if (box.max.x - box.min.x < look_.px(kLeastCell))
        list().AddRectFilled(box.min, box.max, packed(style.fill));
      else
        draw_filled(list(), look_, box, style, segment.label);
      if (segment.row < 0) continue;
      if (model_.rows[static_cast<std::size_t>(segment.row)].request == selected)
        draw_frame(list(), look_, box, FrameKind::selected);
      if (box.max.x - box.min.x >= look_.px(kLeastMarked))
        context_.mark("axis " + segment.label, {box.min, box.max});
    }
  }

  void handle_mouse() {
    if (!ImGui::IsItemHovered()) return;
    const float x = ImGui::GetMousePos().x - at_.x;
    const auto edge = std::upper_bound(edges_.begin(), edges_.end(), x);
    if (edge == edges_.begin() || edge == edges_.end()) return;
    const AxisSegment& segment =
        model_.segments[static_cast<std::size_t>(edge - edges_.begin()) - 1];
    if (segment.row < 0) {
      tooltip(
          fmt::format("Tokens {}..{} are padding: the forward pass runs on {} tokens, the size "
                      "that was captured",
                      segment.first_token, segment.first_token + segment.num_tokens - 1,
                      model_.num_tokens_padded));
      return;
    }
    const ShownBatchRow& row = model_.rows[static_cast<std::size_t>(segment.row)];
    facts_tooltip(look_, describe_row(row, segment.row));
    if (ImGui::IsItemClicked()) context_.emit("select.request", quoted_word(row.name));
  }

  PanelContext& context_;
  const Look& look_;
  const BatchRowsModel& model_;
  std::vector<float> edges_;  // [segments + 1] from the left of the axis
  ImVec2 at_{};
};

}  // namespace

void draw_token_axis(PanelContext& context, const BatchRowsModel& model) {
  const float room = ImGui::GetContentRegionAvail().x - context.look.px(2);
  Axis axis(context, model, room);
  const bool wide = axis.width() > room + 1;
  const float height =
      context.look.px(kBarHeight + 2 * kLine + 2) + (wide ? ImGui::GetStyle().ScrollbarSize : 0);
  ImGui::BeginChild("token axis", ImVec2(0, height), false,
                    wide ? ImGuiWindowFlags_HorizontalScrollbar : 0);
  axis.draw();
  ImGui::EndChild();
}

}  // namespace hybridscope
