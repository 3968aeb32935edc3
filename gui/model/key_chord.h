// A key with Ctrl, Shift and Alt, and its text: "Ctrl+Shift+P", "F8", "?". Letters, digits and
// signs are those that are typed, independent of the keyboard's layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// Letters, digits and function keys are each contiguous and ascending.
enum class Key {
  // clang-format off
  a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z,
  digit_0, digit_1, digit_2, digit_3, digit_4, digit_5, digit_6, digit_7, digit_8, digit_9,
  f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12,
  left, right, up, down, home, end, page_up, page_down,
  space, enter, escape, tab, backspace, del, insert,
  comma, period, slash, minus, equal, left_bracket, right_bracket, grave, apostrophe, semicolon,
  // clang-format on
};
inline constexpr std::size_t kNumKeys = static_cast<std::size_t>(Key::semicolon) + 1;

struct KeyChord {
  Key key = Key::a;
  bool ctrl = false;
  bool shift = false;
  bool alt = false;
  friend bool operator==(const KeyChord&, const KeyChord&) = default;
};

// Modifiers in the order Ctrl, Shift, Alt. Shift with slash is "?", Shift with equal is "+", so
// that Ctrl, Shift and equal are "Ctrl++".
std::string to_text(const KeyChord& chord);

// Case and the order of modifiers are ignored; "Shift+/" is "?". Error invalid_input: no such key
// or modifier, a modifier twice, Shift with "?" or "+".
Result<KeyChord> read_key_chord(std::string_view text);
// The chord for a character: the letter for "a" and "A", the key with Shift for "?"; empty for a
// character without its own key here, such as a space.
std::optional<KeyChord> chord_of_character(std::uint32_t character);
// Is it a letter, a digit or a sign?
bool is_typed(Key key);
// Several chords separated by spaces; none for an empty text.
Result<std::vector<KeyChord>> read_key_chords(std::string_view text);

}  // namespace hybridscope
