// Foreign text (names of scenarios, traces and files) made fit for one line of a terminal or log.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hybridscope {

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // bytes, 0: no UTF-8
};

// The one at the front of `text`, which is not empty. Overlong forms, surrogates and what is above
// 10FFFF are no UTF-8 (RFC 3629).
Character first_character(std::string_view text);

// Steers a terminal instead of standing in it: C0, C1, DEL, and the marks that turn the direction
// of the text behind them.
bool is_control(std::uint32_t code);

// Control characters as \xNN, so that no text ends a line or steers a terminal; at most `max_bytes`
// of it, cut between UTF-8 sequences, with "..." for the rest.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

// Bytes that are no UTF-8, and characters that XML does not allow, as U+FFFD.
std::string valid_text(std::string_view text);

}  // namespace hybridscope
