// Samples of cells with their meanings.
#include <fmt/core.h>

#include <functional>
#include <string>
#include <vector>

#include "gui/cell_drawing.h"
#include "gui/model/view_state.h"
#include "gui/widgets.h"

namespace hybridscope {
namespace {

// A sample and a word after the last one; on the next line if there is no room.
void legend_item(const Look& look, std::string_view words, std::string_view meaning,
                 SamplePlace place,
                 const std::function<void(ImDrawList&, const CellBox&)>& sample) {
  const float side = ImGui::GetTextLineHeight();
  const std::string text(words);
  if (place == SamplePlace::next)
    flow(side + look.px(4) + ImGui::CalcTextSize(text.c_str()).x, look.px(12));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::Dummy(ImVec2(side, side));
  sample(*ImGui::GetWindowDrawList(), {at, ImVec2(at.x + side, at.y + side)});
  tooltip(meaning);
  ImGui::SameLine(0, look.px(4));
  ImGui::TextUnformatted(text.c_str());
  tooltip(meaning);
}

}  // namespace

void draw_role_sample(const Look& look, CellRole role, std::string_view words, SamplePlace place) {
  legend_item(look, words, role_meaning(role), place, [&](ImDrawList& list, const CellBox& box) {
    draw_cell(list, look, box, {.block = 1, .role = role, .state = CellState::written}, "");
  });
}

void draw_changed_sample(const Look& look, std::string_view meaning, SamplePlace place) {
  legend_item(
      look, "changed in this step", meaning, place, [&](ImDrawList& list, const CellBox& box) {
        draw_cell(
            list, look, box,
            {.block = 1, .role = CellRole::held, .state = CellState::written, .changed = true}, "");
      });
}

void draw_cell_legend(const Look& look, LegendShape shape) {
  const SamplePlace next = shape == LegendShape::column ? SamplePlace::first : SamplePlace::next;
  const auto item = [&](std::string_view words, std::string_view meaning, const BlockCell& cell) {
    legend_item(
        look, words, meaning, cell.use.read ? SamplePlace::first : next,
        [&](ImDrawList& list, const CellBox& box) { draw_cell(list, look, box, cell, ""); });
  };
  BlockCell running{.block = 1,
                    .role = CellRole::running,
                    .state = CellState::written,
                    .use = {.what = ForwardUse::running, .read = true}};
  item("running: read", role_meaning(CellRole::running), running);
  running.use = {.what = ForwardUse::running, .written = true};
  item("written", role_meaning(CellRole::running), running);
  for (const CellRole role : {CellRole::speculative, CellRole::cached, CellRole::shared,
                              CellRole::held, CellRole::null_block, CellRole::stale})
    draw_role_sample(look, role, role_name(role), next);
  draw_changed_sample(look, "The table got another block in this column.", next);
  item("ends inside, 12/16", kPartialMeaning,
       {.block = 1,
        .role = CellRole::cached,
        .state = CellState::written,
        .partial_tokens = 8,
        .block_size = 16});
  item("checkpoint, S(24)", kCheckpointMeaning,
       {.block = 1, .role = CellRole::cached, .state = CellState::written, .checkpoint = 24});
  draw_state_legend(look, shape, next);
}

void draw_state_sample(const Look& look, CellState state, SamplePlace place) {
  const std::string words =
      state == CellState::written ? "no sign: not checked" : std::string(state_name(state));
  legend_item(look, words, state_meaning(state), place, [&](ImDrawList& list, const CellBox& box) {
    draw_cell(list, look, box, {.block = 1, .role = CellRole::held, .state = state}, "");
  });
}

void draw_state_legend(const Look& look, LegendShape shape, SamplePlace first) {
  SamplePlace place = first;
  for (const CellState state : {CellState::verified, CellState::wrong, CellState::unwritten,
                                CellState::unknown, CellState::written}) {
    draw_state_sample(look, state, place);
    place = shape == LegendShape::column ? SamplePlace::first : SamplePlace::next;
  }
}

void cell_tooltip(const Look& look, const BlockCell& cell) {
  const auto fact = [](std::string_view name, std::string_view meaning) {
    return fmt::format("{}: {}", name, meaning);
  };
  std::vector<Fact> facts{{"block", fmt::format("{}", cell.block)},
                          {"role", fact(role_name(cell.role), role_meaning(cell.role))}};
  if (cell.role != CellRole::null_block)
    facts.push_back({"state", fact(state_name(cell.state), state_meaning(cell.state))});
  facts_tooltip(look, facts);
}

}  // namespace hybridscope
