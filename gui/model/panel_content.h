// A panel's content as tables of words and numbers, for copying and saving. Made from the models
// that panels draw, so that both say the same.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gui/model/selection.h"

namespace hybridscope {

class Workbench;

// monostate: the cell is empty.
using ContentCell = std::variant<std::monostate, std::int64_t, bool, std::string>;

struct ContentTable {
  std::string title;
  std::string note = {};                            // a sentence below the title; empty: none
  std::vector<std::string> headings = {};           // [columns] none empty, no duplicates
  std::vector<std::vector<ContentCell>> rows = {};  // [rows][columns]
};

struct PanelContent {
  std::vector<std::string> notes = {};  // sentences above the tables
  std::string text = {};                // preformatted lines, for a fixed-width font
  std::vector<ContentTable> tables = {};
};

// One row per panel.
struct ContentRow {
  std::string_view panel;  // its id
  // For the shown run (SideScope). Requires: a step is shown, unless it is of a plan.
  PanelContent (*make)(Workbench&) = nullptr;
  bool of_plan = false;  // of results of `hybridscope plan`, not of a run
};
std::span<const ContentRow> block_contents();     // content_of_blocks.cpp
std::span<const ContentRow> batch_contents();     // content_of_batch.cpp
std::span<const ContentRow> metadata_contents();  // content_of_metadata.cpp
std::span<const ContentRow> language_contents();  // content_of_language.cpp
std::span<const ContentRow> run_contents();       // content_of_run.cpp
// The content of a panel; null: it has none.
const ContentRow* find_content(std::string_view panel);

struct RunContent {
  std::string run;        // its title, or the file of a plan's results
  std::int64_t step = 0;  // 0: of none
  PanelContent content;
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

}  // namespace hybridscope
