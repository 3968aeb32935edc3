#include "gui/token_strip.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "gui/cell_drawing.h"
#include "gui/model/command_table.h"
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

namespace {

// Points of scale 1.
constexpr float kLabels = 52;  // width of the words left of the strip
constexpr float kCell = 66;
constexpr float kGap = 10;  // after the state that the step reads
constexpr float kHeight = 22;
constexpr float kStripLine = 15;

CellRole role_of(StripTokenKind kind) {
  constexpr std::array<CellRole, kNumStripTokenKinds> kRoles = {
      CellRole::held, CellRole::speculative, CellRole::null_block, CellRole::padding,
      CellRole::free_block};
  return kRoles[static_cast<std::size_t>(kind)];
}

class TokenStrip {
 public:
  TokenStrip(PanelContext& context, const SpeculativeModel& model, const SpeculativeRow& row)
      : context_(context),
        look_(context.look),
        model_(model),
        row_(row),
        at_(ImGui::GetCursorScreenPos()),
        list_(*ImGui::GetWindowDrawList()) {}

  void draw() {
    ImGui::InvisibleButton("strip",
                           ImVec2(token_strip_width(look_, row_), token_strip_height(look_)));
    const Rgba dim = look_.ui().text_dim;
    write(at_.x, kTokens + 4, "token", dim);
    if (model_.no_places.empty()) {
      write(at_.x, kStates + 4, "block", dim);
      write(at_.x, kColumns, "column", dim);
      draw_source();
    }
    for (std::size_t i = 0; i < row_.tokens.size(); ++i) draw_token(i, row_.tokens[i]);
  }

 private:
  // Tops of the lines.
  static constexpr float kTokens = 0;
  static constexpr float kWords = kTokens + kHeight + 1;
  static constexpr float kStates = kWords + kStripLine + 3;
  static constexpr float kColumns = kStates + kHeight + 1;
  static constexpr float kNext = kColumns + kStripLine;

  float y(float points) const { return at_.y + look_.px(points); }
  // Cell 0 is the state that the step reads, then one cell per token.
  float x(std::size_t cell) const {
    return at_.x + look_.px(kLabels + kCell * static_cast<float>(cell) + (cell > 0 ? kGap : 0));
  }
  CellBox box(std::size_t cell, float top) const {
    return {ImVec2(x(cell), y(top)), ImVec2(x(cell) + look_.px(kCell - 3), y(top + kHeight))};
  }

  void write(float left, float top, std::string_view text, Rgba colour) {
    draw_text(list_, look_.fonts.small, ImVec2(left, y(top)), packed(colour), text);
  }
  void write_below(std::size_t cell, float top, std::string_view text, Rgba colour) {
    draw_centred_text(list_, look_.fonts.small, ImVec2(x(cell) + look_.px(kCell - 3) / 2, y(top)),
                      packed(colour), text);
  }

  void draw_state(std::size_t cell, const StatePlace& place, CellRole role, bool is_next) {
    const CellBox cell_box = box(cell, kStates);
    const CellRole shown = place.block == kNullBlock ? CellRole::null_block : role;
    draw_cell(list_, look_, cell_box,
              {.block = std::max(place.block, 0),
               .role = shown,
               .state = row_.starts_wrong ? CellState::wrong : CellState::written},
              fmt::format("{}", place.block));
    write_below(cell, kColumns, fmt::format("{}", place.column), look_.ui().text_dim);
    if (is_next)
      list_.AddRect(ImVec2(cell_box.min.x - 2, cell_box.min.y - 2),
                    ImVec2(cell_box.max.x + 2, cell_box.max.y + 2), packed(look_.ui().accent), 0, 0,
                    look_.px(2));
    context_.mark(fmt::format("strip {} {}", row_.name, cell), {cell_box.min, cell_box.max});
    if (ImGui::IsItemClicked() && ImGui::IsMouseHoveringRect(cell_box.min, cell_box.max))
      context_.emit("select.cell", fmt::format("{} {} {} worker", quoted_word(row_.name),
                                               model_.group, place.column));
  }

  void draw_source() {
    write_below(0, kTokens + 4, fmt::format("S({})", row_.num_computed_tokens), look_.ui().text);
    write_below(0, kWords, row_.has_source ? "read" : "zeros", look_.ui().text_dim);
    if (row_.has_source) draw_state(0, row_.source, CellRole::running, false);
  }

  void draw_token(std::size_t index, const StripToken& token) {
    const std::size_t cell = index + 1;
    std::string number = fmt::format("{}", token.last);
    if (token.first < token.last) number = fmt::format("{}..{}", token.first, token.last);
    draw_cell(list_, look_, box(cell, kTokens),
              {.block = 1, .role = role_of(token.kind), .state = CellState::written}, number);
    const bool is_placeholder = token.kind == StripTokenKind::placeholder;
    write_below(cell, kWords, is_placeholder ? "draft -1" : strip_token_name(token.kind),
                look_.ui().text);
    if (token.kind == StripTokenKind::bonus) {
      write_below(cell, kStates + 4, "not run", look_.ui().text_dim);
      return;
    }
    if (token.state.column < 0) return;
    const bool moved = token.next_reads && row_.next_read.column != token.state.column;
    draw_state(cell, token.state, index == 0 ? CellRole::running : CellRole::speculative,
               token.next_reads);
    if (token.next_reads)
      write_below(cell, kNext, moved ? fmt::format("now in {}", row_.next_read.column) : "next",
                  look_.ui().accent);
  }

  PanelContext& context_;
  const Look& look_;
  const SpeculativeModel& model_;
  const SpeculativeRow& row_;
  ImVec2 at_;
  ImDrawList& list_;
};

}  // namespace

float token_strip_height(const Look& look) { return look.px(kHeight * 2 + kStripLine * 3 + 7); }

float token_strip_width(const Look& look, const SpeculativeRow& row) {
  return look.px(kLabels + kGap + kCell * static_cast<float>(row.tokens.size() + 1));
}

void draw_token_strip(PanelContext& context, const SpeculativeModel& model,
                      const SpeculativeRow& row) {
  TokenStrip(context, model, row).draw();
}

}  // namespace hybridscope
