#include "gui/row_scroll.h"

#include <imgui.h>

#include <algorithm>

#include "gui/model/word_wrap.h"

namespace hybridscope {

void RowScroll::begin(float header) {
  header_ = header;
  edges_.clear();
  wanted_.reset();
}

void RowScroll::add(bool follows) {
  if (follows && !wanted_) wanted_ = edges_.size();
  const float above = ImGui::GetWindowPos().y - ImGui::GetScrollY() + header_;
  edges_.push_back(ImGui::GetItemRectMin().y - above);
  end_ = ImGui::GetItemRectMax().y - above;
}

void RowScroll::end() {
  if (edges_.empty()) return;
  edges_.push_back(end_);
  const float above_first = edges_.front();  // the padding of cells stays
  for (float& edge : edges_) edge -= above_first;
  const float room = ImGui::GetWindowHeight() - header_;
  if (wanted_) {
    const float scroll = snapped_scroll(
        {.edges = edges_, .wanted = *wanted_, .scroll = ImGui::GetScrollY(), .room = room});
    room_below_ = std::max(scroll + room - edges_.back(), 0.0F);
    if (edges_.back() <= room) room_below_ = 0;  // nothing to scroll
    ImGui::SetScrollY(scroll);
  }
  if (room_below_ > 0) ImGui::TableNextRow(ImGuiTableRowFlags_None, room_below_);
}

}  // namespace hybridscope
