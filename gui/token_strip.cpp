#include "gui/token_strip.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <string>

#include "gui/cell_drawing.h"
#include "gui/model/command_arguments.h"
#include "gui/widgets.h"

namespace hybridscope {
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

class Strip {
 public:
  Strip(PanelContext& context, const SpeculativeModel& model, const SpeculativeRow& row)
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
  Strip(context, model, row).draw();
}

}  // namespace hybridscope
