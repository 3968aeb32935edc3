// Foreign text (names of scenarios, traces and files) made fit for one line of a terminal or log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridscope {

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // bytes, 0: not UTF-8
};

// The first character of `text`, which is not empty. Overlong forms, surrogates and codes above
// 10FFFF are not UTF-8 (RFC 3629).
Character first_character(std::string_view text);

// Controls a terminal instead of being shown: C0, C1, DEL, and the marks that change the direction
// of the text after them.
bool is_control(std::uint32_t code);

// Control characters as \xNN, so that no text ends a line or controls a terminal; at most
// `max_bytes`, cut between UTF-8 sequences, with "..." for the rest.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

// Bytes that are not UTF-8, and characters that XML does not allow, as U+FFFD.
std::string valid_text(std::string_view text);

}  // namespace hybridscope
