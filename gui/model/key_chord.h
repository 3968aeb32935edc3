// A key with Ctrl, Shift and Alt, and its text: "Ctrl+Shift+P", "F8", "?". Letters, digits and
// signs are those that a keyboard types, wherever it has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

// Letters, digits and function keys each without a gap, in ascending order.
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

// Case does not matter, nor the order of modifiers; "Shift+/" is "?". Error invalid_input: no such
// key or modifier, a modifier twice, Shift with "?" or "+".
Result<KeyChord> read_key_chord(std::string_view text);
// The chord that is written so: of "a" and "A" the letter, of "?" the key with Shift; empty for
// what has no key of its own here, such as a space.
std::optional<KeyChord> chord_of_character(std::uint32_t character);
// Is it a letter, a digit or a sign?
bool is_typed(Key key);
// Several with spaces between; none in an empty text.
Result<std::vector<KeyChord>> read_key_chords(std::string_view text);

}  // namespace hybridscope
