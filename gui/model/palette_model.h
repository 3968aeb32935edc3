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
  // Null: the key has no command.
  const CommandRow* find(const KeyChord& chord) const;

 private:
  std::vector<std::pair<KeyChord, const CommandRow*>> keys_;
};

struct PaletteEntry {
  const CommandRow* row = nullptr;
  std::string argument = {};  // of the command; empty: the dialog asks for it
  std::string title;          // "Run: Go to step...", "Bookmark at step 3: too early"
  std::vector<std::size_t> highlights = {};  // bytes of the title that match
  bool possible = true;
};

// Every command and bookmark whose title matches, the best match first.
std::vector<PaletteEntry> palette_entries(const Workbench& workbench, std::string_view query);

}  // namespace hybridscope
