#include "gui/widgets.h"

#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/model/word_wrap.h"

namespace hybridscope {
namespace {
constexpr std::size_t kMostMeasured = 1024;   // bytes; no window is as wide
constexpr std::size_t kMostInTooltip = 4096;  // bytes; about a screen full

void text(std::string_view words) {
  ImGui::TextUnformatted(words.data(), words.data() + words.size());
}
}  // namespace

void dim_text(const Look& look, std::string_view words) {
  const TextColour dim(look.ui().text_dim);
  text(words);
}

// Only cards are filled, and items on a card are transparent: with software rendering, filling
// takes most of a frame.
void begin_card(const Look& look, const char* id, ImVec2 size) {
  ImGui::PushStyleColor(ImGuiCol_ChildBg, packed(look.ui().panel));
  ImGui::BeginChild(id, size, true,
                    ImGuiWindowFlags_NoScrollbar | ImGuiWindowFlags_NoScrollWithMouse);
  ImGui::PopStyleColor();
}

void heading(const Look& look, std::string_view words) {
  const FontScope bold(look.fonts.bold);
  text(words);
}

namespace {
// Up to the visible edge of a window that scrolls sideways.
float visible_room() {
  return ImGui::GetWindowContentRegionMax().x + ImGui::GetScrollX() - ImGui::GetCursorPosX();
}
}  // namespace

void heading(const Look& look, std::string_view words, std::string_view below) {
  {
    const FontScope bold(look.fonts.bold);
    text(wrap_text(words, visible_room()));
  }
  if (below.empty()) return;
  flow(text_width(look.fonts.words, below), ImGui::GetStyle().ItemSpacing.x);
  const TextColour dim(look.ui().text_dim);
  text(wrap_text(below, visible_room()));
}

void flow(float width, float gap, float indent) {
  const float right = ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  if (ImGui::GetItemRectMax().x + gap + width <= right) {
    ImGui::SameLine(0, gap);
  } else if (indent > 0) {
    ImGui::Dummy(ImVec2(indent, 0));
    ImGui::SameLine(0, 0);
  }
}

void wrapped_text(std::string_view words) {
  text(wrap_text(words, ImGui::GetContentRegionAvail().x));
}

void wrapped_text(Rgba colour, std::string_view words) {
  const TextColour scope(colour);
  wrapped_text(words);
}

void wrapped_in_window(Rgba colour, std::string_view words) {
  const TextColour scope(colour);
  text(wrap_text(
      words, ImGui::GetWindowWidth() - ImGui::GetStyle().ScrollbarSize - ImGui::GetCursorPosX()));
}

void fitted_text(std::string_view words) {
  const std::string fitted = fit_text(ImGui::GetFont(), words, ImGui::GetContentRegionAvail().x);
  text(fitted);
  if (fitted.size() != words.size()) tooltip(words);
}

void fitted_name(std::string_view name) {
  const std::string fitted = fit_middle(ImGui::GetFont(), name, ImGui::GetContentRegionAvail().x);
  text(fitted);
  if (fitted.size() != name.size()) tooltip(name);
}

void right_aligned(std::string_view words) {
  const float width = text_width(ImGui::GetFont(), words);
  const float room = ImGui::GetContentRegionAvail().x;
  if (room > width) ImGui::SetCursorPosX(ImGui::GetCursorPosX() + room - width);
  fitted_text(words);
}

void scroll_to_row(std::ptrdiff_t index, float height) {
  const float top = height * static_cast<float>(index);
  // In the first frame it is not known whether there is a scrollbar below.
  const float room = ImGui::GetWindowHeight() - height - ImGui::GetStyle().ScrollbarSize;
  if (top < ImGui::GetScrollY()) ImGui::SetScrollY(top);
  if (top + height > ImGui::GetScrollY() + room) ImGui::SetScrollY(top + height - room);
}

float table_header_height() {
  return ImGui::GetTextLineHeight() + ImGui::GetStyle().CellPadding.y * 2;
}

void scroll_into_view(float top, float height) {
  const float room = ImGui::GetWindowHeight() - ImGui::GetStyle().ScrollbarSize;
  if (top < ImGui::GetScrollY() || height > room)
    ImGui::SetScrollY(top);
  else if (top + height > ImGui::GetScrollY() + room)
    ImGui::SetScrollY(top + height - room);
}

void draw_text(ImDrawList& list, ImFont* font, ImVec2 at, ImU32 colour, std::string_view words) {
  list.AddText(font, font->FontSize, at, colour, words.data(), words.data() + words.size());
}

void draw_centred_text(ImDrawList& list, ImFont* font, ImVec2 top, ImU32 colour,
                       std::string_view words) {
  draw_text(list, font, ImVec2(std::floor(top.x - text_width(font, words) / 2), top.y), colour,
            words);
}

float text_width(ImFont* font, std::string_view words) {
  if (words.empty()) return 0;  // ImGui takes no null pointer
  words = first_bytes(words, kMostMeasured);
  return font->CalcTextSizeA(font->FontSize, FLT_MAX, 0, words.data(), words.data() + words.size())
      .x;
}

void draw_arrow_head(ImDrawList& list, const Look& look, ImVec2 tip, float direction,
                     ImU32 colour) {
  const float size = look.px(4.5F);
  const float back = tip.y - direction * size * 1.5F;
  list.AddTriangleFilled(tip, ImVec2(tip.x - size, back), ImVec2(tip.x + size, back), colour);
}

float button_width(const char* label) {
  return ImGui::CalcTextSize(label, nullptr, true).x + 2 * ImGui::GetStyle().FramePadding.x;
}

bool toggle(const Look& look, const char* label, bool on) {
  if (on) {
    ImGui::PushStyleColor(ImGuiCol_Button, packed(look.ui().accent));
    ImGui::PushStyleColor(ImGuiCol_ButtonHovered, packed(look.ui().accent));
    ImGui::PushStyleColor(ImGuiCol_Text, packed(look.ui().on_accent));
  }
  const bool pressed = ImGui::Button(label);
  if (on) ImGui::PopStyleColor(3);
  return pressed;
}

void tooltip(std::string_view words) {
  if (!ImGui::IsItemHovered()) return;
  const std::string_view shown = first_bytes(words, kMostInTooltip);
  ImGui::BeginTooltip();
  text(wrap_text(shown, ImGui::GetFontSize() * 32) + (shown.size() < words.size() ? "..." : ""));
  ImGui::EndTooltip();
}

void wrapped_dim_text(const Look& look, std::string_view words) {
  wrapped_text(look.ui().text_dim, words);
}

void draw_facts(const Look& look, const char* id, std::span<const Fact> facts) {
  if (!ImGui::BeginTable(id, 2, ImGuiTableFlags_SizingFixedFit)) return;
  for (const Fact& fact : facts) {
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    dim_text(look, fact.label);
    ImGui::TableNextColumn();
    text(fact.value);
  }
  ImGui::EndTable();
}

void facts_tooltip(const Look& look, std::span<const Fact> facts) {
  ImGui::BeginTooltip();
  draw_facts(look, "facts", facts);
  ImGui::EndTooltip();
}

namespace {
MeasureText measured_in(ImFont* font) {
  return [font](std::string_view piece) { return text_width(font, piece); };
}
}  // namespace

std::string wrap_text(std::string_view words, float width) {
  return wrap_words(words, width, measured_in(ImGui::GetFont()));
}

float wrapped_height(std::string_view words, float width) {
  const std::string wrapped = wrap_text(words, width);
  return ImGui::CalcTextSize(wrapped.data(), wrapped.data() + wrapped.size()).y;
}

std::string fit_text(ImFont* font, std::string_view words, float width) {
  return cut_end(words, width, measured_in(font));
}

std::string fit_middle(ImFont* font, std::string_view words, float width) {
  return cut_middle(words, width, measured_in(font));
}

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
