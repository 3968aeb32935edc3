// Elements that panels share.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/look.h"
#include "gui/model/picture.h"
#include "gui/model/view_state.h"

namespace hybridscope {

// Text in the dim colour.
void dim_text(const Look& look, std::string_view text);
// Text in the dim colour, wrapped.
void wrapped_dim_text(const Look& look, std::string_view text);
// Label and value, one fact per line.
void draw_facts(const Look& look, const char* id, std::span<const Fact> facts);
// Opens a child window with a border and the colour of panels.
void begin_card(const Look& look, const char* id, ImVec2 size);
// Bold text.
void heading(const Look& look, std::string_view text);
// Bold text followed by dim words; both wrap at the visible edge.
void heading(const Look& look, std::string_view text, std::string_view words);
// Continues after the last item, or on the next line if `width` does not fit there.
void flow(float width, float gap, float indent = 0);
float button_width(const char* label);
// A button that stays down while `on`.
bool toggle(const Look& look, const char* label, bool on);
// Text that wraps at the right edge.
void wrapped_text(std::string_view text);
void wrapped_text(Rgba colour, std::string_view text);
// For a window that scrolls sideways: wraps at its visible edge, not at the end of its contents.
void wrapped_in_window(Rgba colour, std::string_view text);
// Words that are cut with "..." if there is no room, and then shown in full in a tooltip.
void fitted_text(std::string_view text);
// A name: its middle is cut out.
void fitted_name(std::string_view text);
// A fitted text at the right edge of its cell.
void right_aligned(std::string_view text);
// Scrolls row `index` of the current table into view; rows are `height` high, below a header row.
void scroll_to_row(std::ptrdiff_t index, float height);
// The height of the header row of a table.
float table_header_height();
// Scrolls [top, top + height) of the current window into view.
void scroll_into_view(float top, float height);
// Draws into a draw list: text at a place, and text centred on a line.
void draw_text(ImDrawList& list, ImFont* font, ImVec2 at, ImU32 colour, std::string_view text);
void draw_centred_text(ImDrawList& list, ImFont* font, ImVec2 top, ImU32 colour,
                       std::string_view text);
// The width of a text; of one that is wider than any window the width of its beginning.
float text_width(ImFont* font, std::string_view text);
// The head of an arrow that arrives from above (direction 1) or from below (-1).
void draw_arrow_head(ImDrawList& list, const Look& look, ImVec2 tip, float direction, ImU32 colour);
// Shown while the last item is hovered; a text that fills a screen is cut.
void tooltip(std::string_view text);
void facts_tooltip(const Look& look, std::span<const Fact> facts);
// The text in lines of the current font, broken at spaces, and how high that is.
std::string wrap_text(std::string_view text, float width);
float wrapped_height(std::string_view text, float width);
// The text, or as much of it as fits, followed by "...".
std::string fit_text(ImFont* font, std::string_view text, float width);
// The text, or as much of its beginning and end as fits, with "..." between them.
std::string fit_middle(ImFont* font, std::string_view text, float width);

// Brings the selected row of a table into view, below a whole row. For tables that draw all rows.

class RowScroll {
 public:
  // Call before the rows; `header`: pixels of the row that stays above them.
  void begin(float header);
  // Call when the item that spans a row was drawn; `follows`: the list has to show it.
  void add(bool follows);
  // Call behind the last row, in the table.
  void end();

 private:
  std::vector<float> edges_;  // [rows, + 1 at the end] tops, pixels below the header
  std::optional<std::size_t> wanted_;
  float end_ = 0;  // of the last row
  float header_ = 0;
  float room_below_ = 0;  // an empty row at the end, without which the list could not scroll so far
};

}  // namespace hybridscope
