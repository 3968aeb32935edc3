// What the command palette lists for the typed text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/command_table.h"
#include "gui/model/key_chord.h"
#include "gui/model/workbench.h"

namespace hybridscope {

// Finds the command of a key: the keys of the command table, read once.

class KeyMap {
 public:
  // Requires: every row's keys can be read and no two rows share one.
  KeyMap();
  // The command of a key; null: it has none.
  const CommandRow* find(const KeyChord& chord) const;

 private:
  std::vector<std::pair<KeyChord, const CommandRow*>> keys_;
};

// A panel, a command or a bookmark.
struct PaletteEntry {
  const CommandRow* row = nullptr;  // panel.show for a panel
  std::string argument = {};        // of the command; empty: the dialog asks for it
  std::string
      title;  // "Panel: Block tables", "Run: Go to step...", "Bookmark at step 3: too early"
  std::string_view id = {};                     // "block_tables", "run.go_to"; empty: a bookmark
  std::vector<std::size_t> highlights = {};     // bytes of the title that match, or
  std::vector<std::size_t> id_highlights = {};  // of the id, where that matches better
  bool changes_run = false;
  bool possible = true;
};

// The panels, commands and bookmarks whose title or id matches. Those that change the run come
// last. Before that the best kind of match counts, then panels come before the rest, then the best
// score. Titles with scattered letters of the query are listed only if nothing matches better, and
// none that changes or closes the run.
std::vector<PaletteEntry> palette_entries(const Workbench& workbench, std::string_view query);

}  // namespace hybridscope
