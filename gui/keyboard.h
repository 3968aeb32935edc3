// Keys on their way from a window to the commands: every press counts, even several between two
// frames, in order.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "gui/model/key_chord.h"

namespace hybridscope {

// Gives ImGui the key numbers (GLFW's) of the keys it uses itself. For surfaces without GLFW;
// requires an ImGui context.
void map_keys();

// The label of a key, given GLFW's number: "z" where the US layout has a y; empty: not known.
using KeyPrint = std::function<std::string(int glfw_key)>;

struct KeyModifiers {
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
};

// Letters, digits and signs without Ctrl and Alt are those that were typed, so any layout works.
class KeyQueue {
 public:
  // The keyboard's layout, for chords with Ctrl and Alt; empty: the US layout.
  void follow_layout(KeyPrint print) { print_ = std::move(print); }
  // A key (GLFW's number) went down, or repeats.
  void key_down(int glfw_key, const KeyModifiers& held);
  // The key that went down last typed this character.
  void typed(char32_t character);
  // The chords since the last call.
  std::vector<KeyChord> take() { return std::exchange(chords_, {}); }

 private:
  KeyChord printed(KeyChord chord) const;

  KeyPrint print_;
  bool shift_ = false;  // of the last key
  std::vector<KeyChord> chords_;
};

// While a text field has the keyboard: is the key for typing rather than for a command?
bool is_for_typing(const KeyChord& chord);

// GLFW's number of a key.
int glfw_key(Key key);

}  // namespace hybridscope
