// What a panel shows as text for people, as JSON for programs, as Markdown for reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "gui/model/picture.h"
#include "gui/model/view_state.h"

namespace hybridscope {

class Workbench;

struct RunContent {
  std::string run;        // its title, or the file of a plan's results
  std::int64_t step = 0;  // 0: of none
  Picture content;
};

// A panel's content with its context.
struct PanelDocument {
  std::string panel;  // id
  std::string title;
  Selection selection;
  std::string request;           // its name; empty: none is selected
  std::string group;             // likewise
  std::vector<RunContent> runs;  // one, or both of a comparison
};

// Requires: the panel has a row, and what it is of is there: a step is shown, or a plan is open.
PanelDocument make_panel_document(Workbench& workbench, std::string_view panel);

// "12 rows"; of text alone "57 lines".
std::string size_words(const PanelDocument& document);

enum class ContentFormat : std::uint8_t { text, json, markdown };
inline constexpr std::array kContentFormats = {ContentFormat::text, ContentFormat::json,
                                               ContentFormat::markdown};
// "markdown": in commands. "Markdown": for people.
std::string_view content_format_name(ContentFormat format);
std::string_view content_format_title(ContentFormat format);
std::optional<ContentFormat> content_format_of(std::string_view name);

// Columns as wide as their widest cell, numbers at their right edge.
std::string content_text(const PanelDocument& document);
// {panel, title, run, step, selection, notes, text, tables: [{title, note, rows: [{HEADING:
// cell}]}], compared_with}: empty cells are null, notes and text are left out where there are none.
std::string content_json(const PanelDocument& document);
// GitHub's tables; pipes, line ends and what would be markup are escaped.
std::string content_markdown(const PanelDocument& document);
// null for an empty cell.
nlohmann::ordered_json cell_json(const TableCell& cell);
// The columns of a table that are copied: all but those of buttons.
std::vector<std::size_t> copied_columns(const Table& table);
std::string render_content(const PanelDocument& document, ContentFormat format);

}  // namespace hybridscope
