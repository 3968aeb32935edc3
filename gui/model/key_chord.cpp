#include "gui/model/key_chord.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/result.h"
#include "sessions/text/json_value.h"

namespace hybridscope {
namespace {

// By Key.
constexpr std::array<std::string_view, kNumKeys> kNames = {
    // clang-format off
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M",
    "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z",
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12",
    "Left", "Right", "Up", "Down", "Home", "End", "PageUp", "PageDown",
    "Space", "Enter", "Escape", "Tab", "Backspace", "Delete", "Insert",
    ",", ".", "/", "-", "=", "[", "]", "`", "'", ";",
    // clang-format on
};

// The sign that Shift makes of a key, where it is written instead.
struct ShiftedKey {
  Key key;
  std::string_view name;
};
constexpr std::array<ShiftedKey, 2> kShiftedKeys = {{{Key::slash, "?"}, {Key::equal, "+"}}};

struct Modifier {
  std::string_view name;
  bool KeyChord::*flag;
};
constexpr std::array<Modifier, 3> kModifiers = {
    {{"Ctrl", &KeyChord::ctrl}, {"Shift", &KeyChord::shift}, {"Alt", &KeyChord::alt}}};

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return lower_case(x) == lower_case(y);
         });
}

Error bad_chord(std::string_view text, std::string_view what) {
  return invalid_input(fmt::format("keys {}: {}", quoted_text(text), what));
}

struct ChordWords {
  std::string_view modifiers;  // each with its plus: "Ctrl+Shift+", "Ctrl+" of "Ctrl++"
  std::string_view key;
};

ChordWords split_chord(std::string_view text) {
  const std::size_t end = text.empty() ? 0 : text.size() - 1;  // a key has at least one character
  const std::size_t plus = text.substr(0, end).rfind('+');
  const std::size_t key = plus == std::string_view::npos ? 0 : plus + 1;
  return {.modifiers = text.substr(0, key), .key = text.substr(key)};
}

// The key alone, with Shift if its name implies it.
std::optional<KeyChord> key_named(std::string_view name) {
  for (const ShiftedKey& shifted : kShiftedKeys)
    if (shifted.name == name) return KeyChord{.key = shifted.key, .shift = true};
  for (std::size_t i = 0; i < kNumKeys; ++i)
    if (same_word(kNames[i], name)) return KeyChord{.key = static_cast<Key>(i)};
  return std::nullopt;
}

}  // namespace

std::string to_text(const KeyChord& chord) {
  const auto index = static_cast<std::size_t>(chord.key);
  HS_EXPECT(index < kNumKeys);
  KeyChord rest = chord;
  std::string_view name = kNames[index];
  for (const ShiftedKey& shifted : kShiftedKeys) {
    if (!chord.shift || shifted.key != chord.key) continue;
    name = shifted.name;
    rest.shift = false;
  }
  std::string text;
  for (const Modifier& modifier : kModifiers)
    if (rest.*modifier.flag) text += fmt::format("{}+", modifier.name);
  return text.append(name);
}

Result<KeyChord> read_key_chord(std::string_view text) {
  ChordWords words = split_chord(text);
  std::optional<KeyChord> chord = key_named(words.key);
  if (!chord)
    return bad_chord(text, fmt::format("there is no key {} (expected a letter, a digit, F1 to F12, "
                                       "a sign such as \"?\" or a name such as PageUp)",
                                       quoted_text(words.key)));
  while (!words.modifiers.empty()) {
    const std::string_view name = words.modifiers.substr(0, words.modifiers.find('+'));
    words.modifiers.remove_prefix(name.size() + 1);
    const auto* const modifier =
        std::find_if(kModifiers.begin(), kModifiers.end(),
                     [&](const Modifier& row) { return same_word(row.name, name); });
    if (modifier == kModifiers.end())
      return bad_chord(text, fmt::format("there is no modifier {} (expected Ctrl, Shift or Alt)",
                                         quoted_text(name)));
    bool& flag = (*chord).*modifier->flag;
    if (flag)
      return bad_chord(text, fmt::format("{} is in it twice (expected once)", modifier->name));
    flag = true;
  }
  return *chord;
}

std::optional<KeyChord> chord_of_character(std::uint32_t character) {
  if (character <= ' ' || character > '~') return std::nullopt;
  const char typed = static_cast<char>(character);
  return key_named({&typed, 1});
}

bool is_typed(Key key) { return key <= Key::digit_9 || key >= Key::comma; }

Result<std::vector<KeyChord>> read_key_chords(std::string_view text) {
  std::vector<KeyChord> chords;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) return chords;
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto chord = read_key_chord(text.substr(0, end));
    if (!chord.ok()) return chord.error();
    chords.push_back(chord.value());
    text.remove_prefix(end);
  }
}

}  // namespace hybridscope
