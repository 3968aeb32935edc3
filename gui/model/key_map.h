// Which command a key means: the keys of the command table, read once.
#pragma once

#include <utility>
#include <vector>

#include "gui/model/command_table.h"
#include "gui/model/key_chord.h"

namespace hybridscope {

class KeyMap {
 public:
  // Requires: every row's keys can be read and no two rows share one.
  KeyMap();
  // Null: the key means nothing.
  const CommandRow* find(const KeyChord& chord) const;

 private:
  std::vector<std::pair<KeyChord, const CommandRow*>> keys_;
};

}  // namespace hybridscope
