// What a panel shows, as values: sentences, and tables whose cells say what they are. The window
// draws a picture (gui/picture_panel.h), pages for a browser contain its tables (gui/web), and
// content_render.h writes it as text, JSON or Markdown, so that all of them say the same.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "gui/model/view_state.h"
#include "sessions/explain/cell_role.h"

namespace hybridscope {

// What a text means; each theme has a colour for it.
enum class Tone : std::uint8_t { normal, dim, accent, info, warning, error };

// A command of the workbench that a click applies.
struct Click {
  std::string_view command;  // its id
  std::string argument = {};
};

// How a column behaves where there is less room than its cells want.
enum class ColumnKind : std::uint8_t {
  number,   // is never cut; stands at the right edge, "-" in place of an empty cell
  words,    // is never cut
  name,     // of a request: the first that gives way, its middle cut out with "..."
  remark,   // gives way after names, cut with "..."
  wrapped,  // gives way before names, broken into lines: rows differ in height
  values,   // gives way before names: as many values as fit, and how many they are
  sign,     // the window draws a sign in place of the words, and no heading
  action,   // buttons without a heading; copies leave the column out
};

// The heading of a column, as a literal in the list of a model's columns.
struct ColumnWords {
  std::string_view title;
  std::string_view help = {};  // a tooltip; empty: none
  ColumnKind kind = ColumnKind::number;
  // The column is left out where wrapped words or values would have too little room beside it: they
  // say the same (CellExtras::whole), or the tooltip of the row does.
  bool is_spare = false;
  std::string_view sort = {};  // argument of Table::sort_command; empty: the title
};

struct Heading {
  Heading(const ColumnWords& words)
      : title(words.title),
        help(words.help),
        kind(words.kind),
        is_spare(words.is_spare),
        sort(words.sort.empty() ? words.title : words.sort) {}
  template <class Title>
  requires std::constructible_from<std::string, Title> Heading(const Title& words)
      : title(words), kind(ColumnKind::words), sort(title) {}

  std::string title;  // not empty; no two headings of a table are equal
  std::string_view help = {};
  ColumnKind kind = ColumnKind::number;
  bool is_spare = false;
  std::string sort;
};
template <class Columns>
std::vector<Heading> headings_of(const Columns& columns) {
  return {columns.begin(), columns.end()};
}

// monostate: the cell is empty.
using CellValue = std::variant<std::monostate, std::int64_t, bool, std::string>;
struct CellExtras;

struct TableCell {
  TableCell() = default;
  template <class Value>
  requires std::constructible_from<CellValue, Value> TableCell(Value&& of, Tone in = Tone::normal)
      : value(std::forward<Value>(of)), tone(in) {}

  CellValue value = {};
  Tone tone = Tone::normal;
  std::shared_ptr<const CellExtras> extras = nullptr;  // null: the cell is a value and no more
};

// One line of a list that drops down.
struct Choice {
  std::string words;
  Click click;
};

// A value, or several equal ones, as one line of text shows them.
struct ValuePiece {
  std::string text;           // "7", "[3", "-1 x2047"
  std::int64_t elements = 0;  // number of equal values
  bool changed = false;
  bool selected = false;
  std::optional<CellRole> role = {};  // it is drawn as a cell of this role
  bool is_left_out = false;           // it stands in place of values
};

struct CellExtras {
  std::vector<Click> clicks = {};    // not empty: the cell is a button, a flag a check box
  std::vector<Choice> choices = {};  // not empty: a list to choose the value from
  std::string label = {};            // stands in the window in place of the value; empty: it does
  std::string mark = {};             // names the button for scripts
  std::string tooltip = {};          // empty: none
  std::string whole = {};            // the words where spare columns are left out; empty: the value
  std::vector<TableCell> above = {};  // lines of a wrapped cell that stand above its own words
  float share = -1;                   // from 0 to 1: a bar behind the value; -1: none
  // The first values: as many as fit (ColumnKind::values), or over several lines (wrapped).
  std::vector<ValuePiece> pieces = {};
  std::int64_t num_values = 0;  // how many there are
};
// What stands in the window, on one line: "yes" and "no" of a flag.
inline std::string shown_words(const TableCell& cell) {
  if (cell.extras != nullptr && !cell.extras->label.empty()) return cell.extras->label;
  if (const auto* number = std::get_if<std::int64_t>(&cell.value)) return std::to_string(*number);
  if (const auto* flag = std::get_if<bool>(&cell.value)) return *flag ? "yes" : "no";
  const auto* const words = std::get_if<std::string>(&cell.value);
  return words == nullptr ? std::string() : *words;
}
inline TableCell with_extras(TableCell cell, CellExtras extras) {
  cell.extras = std::make_shared<const CellExtras>(std::move(extras));
  return cell;
}

inline TableCell number_cell(std::int64_t number) { return number; }
// For models in which -1 means not known or not present.
inline TableCell known_cell(std::int64_t number) {
  return number < 0 ? TableCell() : TableCell(number);
}
inline TableCell words_cell(std::string_view words, Tone tone = Tone::normal) {
  return words.empty() ? TableCell() : TableCell(std::string(words), tone);
}
inline TableCell flag_cell(bool flag) { return flag; }

struct TableRow {
  TableRow() = default;
  TableRow(std::initializer_list<TableCell> list) : cells(list) {}

  std::vector<TableCell> cells;           // [headings]
  std::string mark = {};                  // names the row for scripts; empty: it cannot be clicked
  std::vector<Click> clicks = {};         // of a click anywhere in the row
  std::vector<Click> double_clicks = {};  // besides, of a double click
  std::string tooltip = {};
  bool is_selected = false;
  bool differs = false;  // something in it differs from the other run of a comparison
};

// A part of a strip: tokens [first, last).
struct StripPart {
  enum class Shape : std::uint8_t {
    field,
    outline,
    missing,  // hatched: it is not there
    frame,    // around what lies in it
  };
  std::int32_t first = 0;
  std::int32_t last = 0;
  std::string words = {};  // what it is
  std::string text = {};   // where the words do not fit, and in a cell of a role
  Shape shape = Shape::field;
  std::optional<CellRole> role = {};  // a field is drawn as a cell of it
  std::int32_t series = -1;           // whose colour it has at its lower edge; -1: none
  bool is_selected = false;
  bool is_last = false;          // has a thick right edge
  std::vector<Fact> facts = {};  // a tooltip
  std::vector<Click> clicks = {};
  std::string mark = {};  // names it for scripts
};

// Tokens from left to right, as wide as their number.
struct Strip {
  std::string title;
  std::string_view help = {};  // a tooltip of the title
  std::int32_t num_tokens = 1;
  std::vector<StripPart> parts = {};
  std::int32_t tick = 0;                  // a line behind every so many tokens; 0: none
  std::vector<std::int32_t> marked = {};  // a triangle behind each of these tokens
};

struct Table {
  std::string title;
  std::string note = {};               // a sentence below the title; empty: none
  std::vector<Heading> headings = {};  // [columns]
  std::vector<TableRow> rows = {};
  std::vector<Strip> strips = {};      // above the rows
  std::string_view help = {};          // a tooltip of the note
  std::string_view sort_command = {};  // takes Heading::sort; empty: headings do not sort
  std::ptrdiff_t sorted = -1;          // the column by which the rows are sorted; -1: none
  bool is_descending = false;
  std::ptrdiff_t wanted = -1;  // the row that is brought into view; -1: the first selected one
  bool has_headings = true;    // the window draws the titles of its columns
  bool is_folded = false;      // in a page: until its title is clicked
  // The tooltip of a row, made when it is pointed at; null: TableRow::tooltip.
  std::function<std::vector<Fact>(std::size_t row)> facts = nullptr;
};
inline Table facts_table(std::string title, const std::vector<Fact>& facts) {
  Table table{.title = std::move(title), .headings = {"Fact", "Value"}, .has_headings = false};
  for (const Fact& fact : facts)
    table.rows.push_back({words_cell(fact.label, Tone::dim), words_cell(fact.value)});
  return table;
}

// A sentence above the tables.
struct Note {
  template <class Words>
  requires std::constructible_from<std::string, Words> Note(const Words& words, Tone in = Tone::dim,
                                                            bool bold = false)
      : text(words), tone(in), is_heading(bold) {}

  std::string text;
  Tone tone = Tone::dim;
  bool is_heading = false;
};

struct PictureButton {
  std::string label;
  Click click;
  std::string tooltip = {};
  bool is_on = false;  // stays down
  bool is_possible = true;
};

// A field to type into. With a button it applies its command when the button or Enter is pressed,
// and is empty then; without one it applies it with every letter.
struct PictureField {
  std::string_view mark;  // names the field for scripts
  std::string_view hint;
  std::string text = {};           // what stands in it while nobody types
  std::string_view command;        // takes what was typed
  std::string_view if_empty = {};  // the command without a button when nothing is left
  std::string_view button = {};
  // Refuses what was typed; the error is shown below the field, and no command applied.
  Status (*check)(const std::string& text) = nullptr;
  std::string_view tooltip = {};
};

struct Picture {
  std::vector<Note> notes = {};
  std::string text = {};  // preformatted lines, for a font of fixed width
  std::vector<Table> tables = {};
  std::vector<PictureField> fields = {};
  std::vector<PictureButton> buttons = {};
  std::string help_title = {};  // of preformatted lines that a click unfolds
  std::string help = {};        // the lines; empty: none
  // The last table is about the selected row of the one before it: both stand beside each other.
  bool has_detail = false;
  // All tables stand below each other, each under its title and as high as its rows, and the panel
  // scrolls. Otherwise the last one takes the room that is left, and those before it are folded.
  bool is_page = false;
};
// Ignores an empty note.
inline void add_note(Picture& picture, std::string_view note) {
  if (!note.empty()) picture.notes.emplace_back(note);
}

}  // namespace hybridscope
