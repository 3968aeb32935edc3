// Keys on their way from a window to the commands: every press counts, also several between two
// frames, in the order they were made.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/key_chord.h"

namespace hybridscope {

// Tells ImGui which number each of the keys it uses itself has: GLFW's. For surfaces without GLFW;
// requires an ImGui context.
void map_keys();

// What a key by GLFW's number has printed on it: "z" where the US layout has a y; empty: not known.
using KeyPrint = std::function<std::string(int glfw_key)>;

struct KeyModifiers {
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
};

// Letters, digits and signs without Ctrl and Alt are those that were typed, so any layout will do.
class KeyQueue {
 public:
  // Where the keyboard has which key, for chords with Ctrl and Alt; empty: the US layout.
  void follow_layout(KeyPrint print) { print_ = std::move(print); }
  // A key by GLFW's number went down, or repeats.
  void key_down(int glfw_key, const KeyModifiers& held);
  // A character was typed with the key that went down last.
  void typed(char32_t character);
  // What came since the last call.
  std::vector<KeyChord> take() { return std::exchange(chords_, {}); }

 private:
  KeyChord printed(KeyChord chord) const;

  KeyPrint print_;
  bool shift_ = false;  // of the last key
  std::vector<KeyChord> chords_;
};

// Is the key for typing rather than for commands, while a text field has the keyboard?
bool is_for_typing(const KeyChord& chord);

// GLFW's number of a key.
int glfw_key(Key key);

}  // namespace hybridscope
