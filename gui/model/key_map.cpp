#include "gui/model/key_map.h"

#include "core/base/check.h"

namespace hybridscope {

KeyMap::KeyMap() {
  for (const CommandRow* row : all_commands()) {
    const auto chords = read_key_chords(row->keys);
    for (const KeyChord& chord : chords.value()) {
      HS_EXPECT(find(chord) == nullptr);
      keys_.emplace_back(chord, row);
    }
  }
}

const CommandRow* KeyMap::find(const KeyChord& chord) const {
  for (const auto& [key, row] : keys_)
    if (key == chord) return row;
  return nullptr;
}

}  // namespace hybridscope
