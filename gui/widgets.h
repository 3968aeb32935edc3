// Repeated bits of panels, drawn the same everywhere.
#pragma once

#include <imgui.h>

#include <span>
#include <string>
#include <string_view>

#include "gui/look.h"
#include "gui/model/column_words.h"
#include "gui/model/facts.h"

namespace hybridscope {

// Text in the dim colour.
void dim_text(const Look& look, std::string_view text);
// The same, in as many lines as it needs.
void wrapped_dim_text(const Look& look, std::string_view text);
// Label and value, one fact a line.
void draw_facts(const Look& look, const char* id, std::span<const Fact> facts);
// Opens a child window with a border and the colour of panels, its lists not scrolled by itself.
void begin_card(const Look& look, const char* id, ImVec2 size);
// Bold text.
void heading(const Look& look, std::string_view text);
// Bold text with dim words behind it; both break at the edge of what is visible.
void heading(const Look& look, std::string_view text, std::string_view words);
// Goes on behind the last item, or in the next line where something so wide has no room there.
void flow(float width, float gap, float indent = 0);
float button_width(const char* label);
// A button that stays down while `on`.
bool toggle(const Look& look, const char* label, bool on);
// Text that breaks at the right edge.
void wrapped_text(std::string_view text);
void wrapped_text(Rgba colour, std::string_view text);
// In a window that scrolls sideways: within what is seen of it, not at the end of its contents.
void wrapped_in_window(Rgba colour, std::string_view text);
// The next cell of a table: words at its left edge, a number at its right. Words that are cut off
// are there as a whole as a tooltip.
void table_cell(std::string_view text);
// Words that end in "..." where there is no room for more, and are then whole in a tooltip.
void fitted_text(std::string_view text);
void table_fitted_cell(std::string_view text);
void table_number(std::string_view text);
// The header of a table whose columns are set up, each with what it means as a tooltip.
void table_headers(std::span<const ColumnWords> columns);
// Brings row `index` of the table that is open into view, its rows being `height` high below a
// header of one row.
void scroll_to_row(std::ptrdiff_t index, float height);
// Brings [top, top + height) of the current window into view.
void scroll_into_view(float top, float height);
// Into a draw list, for pictures: text at a place, text around the middle of a line.
void draw_text(ImDrawList& list, ImFont* font, ImVec2 at, ImU32 colour, std::string_view text);
void draw_centred_text(ImDrawList& list, ImFont* font, ImVec2 top, ImU32 colour,
                       std::string_view text);
float text_width(ImFont* font, std::string_view text);
// The head of an arrow that arrives from above (direction 1) or from below (-1).
void draw_arrow_head(ImDrawList& list, const Look& look, ImVec2 tip, float direction, ImU32 colour);
// Shown while the last item is hovered.
void tooltip(std::string_view text);
void facts_tooltip(const Look& look, std::span<const Fact> facts);
// The text, or as much of it as there is room for with "..." behind it.
std::string fit_text(ImFont* font, std::string_view text, float width);
// As much of its beginning and of its end, with "..." between them.
std::string fit_middle(ImFont* font, std::string_view text, float width);

}  // namespace hybridscope
