// Words broken into lines or cut, in a font that is measured by the caller. Texts may come from
// elsewhere and be of any length: what is measured grows with what is shown, not with the text, and
// with the text only once where all of it is shown. Also the widths of columns whose room is given.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

// Pixels that a piece of text takes.
using MeasureText = std::function<float(std::string_view)>;

// The text in lines of at most `width` pixels: broken at spaces, so that "0.26.0" or
// "block_table[3]" stays whole. A word that is wider alone is broken after one of "_/.,:;-", or
// else anywhere. A line's indent is kept; every line has at least one letter.
std::string wrap_words(std::string_view text, float width, const MeasureText& measure);

// The text if it is at most `width` pixels wide, else as much of its beginning as fits, followed by
// "...".
std::string cut_end(std::string_view text, float width, const MeasureText& measure);
// The text with "..." between as much of its beginning and its end as fits.
std::string cut_middle(std::string_view text, float width, const MeasureText& measure);

// The beginning of the text, in whole letters: at most `bytes` of it.
std::string_view first_bytes(std::string_view text, std::size_t bytes);

// Lines of fixed width that give way to a narrow panel.

// Each line of the text cut at spaces into lines of at most `columns` code points. The pieces are
// indented under the words behind the line's label, which two spaces end, but by half of the
// columns at most; a longer word is cut. Requires: columns > 0.
std::string wrap_lines(std::string_view text, std::size_t columns);

// Where a list of rows of different heights scrolls to, so that it begins with a whole row.

// Pixels from the beginning of the list; `edges`: the tops of its rows and the end of the last one.
struct RowsToScroll {
  std::span<const float> edges{};
  std::size_t wanted = 0;  // the row to show; < edges.size() - 1
  float scroll = 0;        // the place that is at the top now
  float room = 0;          // that is visible
};

// The place to put at the top: the present one if the wanted row is seen as a whole and a row
// begins there; else the top of a row, so that the wanted one is seen, from its beginning if it is
// higher than the room. It may be beyond the last place to which a list without room below it can
// scroll.
float snapped_scroll(const RowsToScroll& rows);

// Widths of the columns of a table whose room is given.

// Pixels.
struct ColumnNeed {
  float wanted = 0;       // shows every cell in full; 0: the column is left out
  float least = 0;        // at most `wanted`; less: may be cut with "..."
  bool is_first = false;  // gives way before the others
};

struct ColumnFit {
  std::vector<float> widths;  // [columns]
  bool fits = true;           // false: all have what they want, and the table scrolls sideways
};

// What is missing is taken from the columns that give way first, then from the others; columns of
// one kind share it in proportion to how far they can give way.
ColumnFit fit_columns(std::span<const ColumnNeed> needs, float room);

// For a table that scrolls sideways: the width of as many of its first columns as the room shows
// whole, so that the visible edge cuts none; each column takes `gap` more than its width. The room
// if it does not show `least` columns.
struct WholeColumns {
  float room = 0;
  float gap = 0;
  std::size_t least = 1;
};
float whole_columns(std::span<const float> widths, const WholeColumns& in);

}  // namespace hybridscope
