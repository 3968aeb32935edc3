// What the command palette lists for what has been typed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gui/model/command_table.h"
#include "gui/model/key_chord.h"
#include "gui/model/workbench.h"

namespace hybridscope {

// Which command a key means: the keys of the command table, read once.

class KeyMap {
 public:
  // Requires: every row's keys can be read and no two rows share one.
  KeyMap();
  // Null: the key means nothing.
  const CommandRow* find(const KeyChord& chord) const;

 private:
  std::vector<std::pair<KeyChord, const CommandRow*>> keys_;
};

struct PaletteEntry {
  const CommandRow* row = nullptr;
  std::string argument = {};  // that it is carried out with; empty: the row's question
  std::string title;          // "Run: Go to step...", "Bookmark at step 3: too early"
  std::vector<std::size_t> highlights = {};  // bytes of the title that were typed
  bool possible = true;
};

// Every command and every bookmark whose title matches, the likely one first.
std::vector<PaletteEntry> palette_entries(const Workbench& workbench, std::string_view query);

}  // namespace hybridscope
