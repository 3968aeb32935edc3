#include "gui/keyboard.h"

#include <GLFW/glfw3.h>
#include <imgui.h>

#include <array>
#include <optional>
#include <utility>

namespace hybridscope {
namespace {

// The keys that are not letters, digits or function keys.
constexpr std::array<std::pair<Key, int>, 25> kOtherKeys{
    {{Key::left, GLFW_KEY_LEFT},
     {Key::right, GLFW_KEY_RIGHT},
     {Key::up, GLFW_KEY_UP},
     {Key::down, GLFW_KEY_DOWN},
     {Key::home, GLFW_KEY_HOME},
     {Key::end, GLFW_KEY_END},
     {Key::page_up, GLFW_KEY_PAGE_UP},
     {Key::page_down, GLFW_KEY_PAGE_DOWN},
     {Key::space, GLFW_KEY_SPACE},
     {Key::enter, GLFW_KEY_ENTER},
     {Key::escape, GLFW_KEY_ESCAPE},
     {Key::tab, GLFW_KEY_TAB},
     {Key::backspace, GLFW_KEY_BACKSPACE},
     {Key::del, GLFW_KEY_DELETE},
     {Key::insert, GLFW_KEY_INSERT},
     {Key::comma, GLFW_KEY_COMMA},
     {Key::period, GLFW_KEY_PERIOD},
     {Key::slash, GLFW_KEY_SLASH},
     {Key::minus, GLFW_KEY_MINUS},
     {Key::equal, GLFW_KEY_EQUAL},
     {Key::left_bracket, GLFW_KEY_LEFT_BRACKET},
     {Key::right_bracket, GLFW_KEY_RIGHT_BRACKET},
     {Key::grave, GLFW_KEY_GRAVE_ACCENT},
     {Key::apostrophe, GLFW_KEY_APOSTROPHE},
     {Key::semicolon, GLFW_KEY_SEMICOLON}}};

// The inverse; the number pad's Enter key is Enter too.
std::optional<Key> key_of_glfw(int number) {
  if (number == GLFW_KEY_KP_ENTER) return Key::enter;
  for (std::size_t i = 0; i < kNumKeys; ++i)
    if (glfw_key(static_cast<Key>(i)) == number) return static_cast<Key>(i);
  return std::nullopt;
}

}  // namespace

int glfw_key(Key key) {
  const int number = static_cast<int>(key);
  const auto from = [&](Key first, int glfw_first) {
    return glfw_first + number - static_cast<int>(first);
  };
  if (key <= Key::z) return from(Key::a, GLFW_KEY_A);
  if (key <= Key::digit_9) return from(Key::digit_0, GLFW_KEY_0);
  if (key <= Key::f12) return from(Key::f1, GLFW_KEY_F1);
  for (const auto& [other, glfw] : kOtherKeys)
    if (other == key) return glfw;
  return GLFW_KEY_UNKNOWN;
}

// The chord with the keyboard's key at this key's place in the US layout. A sign that needs Shift
// in the US layout may not need it on this keyboard: a key with "+" on it.
KeyChord KeyQueue::printed(KeyChord chord) const {
  if (!is_typed(chord.key) || !print_) return chord;
  const std::string print = print_(glfw_key(chord.key));
  const auto named = print.size() == 1
                         ? chord_of_character(static_cast<unsigned char>(print.front()))
                         : std::nullopt;
  if (!named) return chord;
  chord.key = named->key;
  chord.shift = chord.shift || named->shift;
  return chord;
}

void KeyQueue::key_down(int glfw_key, const KeyModifiers& held) {
  shift_ = held.shift;
  const std::optional<Key> key = key_of_glfw(glfw_key);
  if (!key || (is_typed(*key) && !held.ctrl && !held.alt)) return;  // it comes as a character
  chords_.push_back(
      printed({.key = *key, .ctrl = held.ctrl, .shift = held.shift, .alt = held.alt}));
}

void KeyQueue::typed(char32_t character) {
  std::optional<KeyChord> chord = chord_of_character(character);
  if (!chord) return;
  if (chord->key <= Key::z) chord->shift = shift_;  // Caps Lock is ignored
  chords_.push_back(*chord);
}

bool is_for_typing(const KeyChord& chord) {
  const bool is_function_key = chord.key >= Key::f1 && chord.key <= Key::f12;
  if (is_function_key) return false;
  // What text fields do themselves: select all, copy, paste, cut, undo, redo.
  const bool edits = chord.key == Key::a || chord.key == Key::c || chord.key == Key::v ||
                     chord.key == Key::x || chord.key == Key::y || chord.key == Key::z;
  return !chord.ctrl || edits || (chord.key >= Key::left && chord.key <= Key::page_down);
}

void map_keys() {
#if IMGUI_VERSION_NUM < 18700
  ImGuiIO& io = ImGui::GetIO();
  io.KeyMap[ImGuiKey_Tab] = GLFW_KEY_TAB;
  io.KeyMap[ImGuiKey_LeftArrow] = GLFW_KEY_LEFT;
  io.KeyMap[ImGuiKey_RightArrow] = GLFW_KEY_RIGHT;
  io.KeyMap[ImGuiKey_UpArrow] = GLFW_KEY_UP;
  io.KeyMap[ImGuiKey_DownArrow] = GLFW_KEY_DOWN;
  io.KeyMap[ImGuiKey_PageUp] = GLFW_KEY_PAGE_UP;
  io.KeyMap[ImGuiKey_PageDown] = GLFW_KEY_PAGE_DOWN;
  io.KeyMap[ImGuiKey_Home] = GLFW_KEY_HOME;
  io.KeyMap[ImGuiKey_End] = GLFW_KEY_END;
  io.KeyMap[ImGuiKey_Insert] = GLFW_KEY_INSERT;
  io.KeyMap[ImGuiKey_Delete] = GLFW_KEY_DELETE;
  io.KeyMap[ImGuiKey_Backspace] = GLFW_KEY_BACKSPACE;
  io.KeyMap[ImGuiKey_Space] = GLFW_KEY_SPACE;
  io.KeyMap[ImGuiKey_Enter] = GLFW_KEY_ENTER;
  io.KeyMap[ImGuiKey_Escape] = GLFW_KEY_ESCAPE;
  io.KeyMap[ImGuiKey_KeyPadEnter] = GLFW_KEY_KP_ENTER;
  io.KeyMap[ImGuiKey_A] = GLFW_KEY_A;
  io.KeyMap[ImGuiKey_C] = GLFW_KEY_C;
  io.KeyMap[ImGuiKey_V] = GLFW_KEY_V;
  io.KeyMap[ImGuiKey_X] = GLFW_KEY_X;
  io.KeyMap[ImGuiKey_Y] = GLFW_KEY_Y;
  io.KeyMap[ImGuiKey_Z] = GLFW_KEY_Z;
#endif
}

}  // namespace hybridscope
