// Foreign text (names of scenarios, traces and files) made fit for one line of a terminal or log.
#pragma once

#include <string>
#include <string_view>

namespace hybridscope {

// Control characters as \xNN, so that no text ends a line or steers a terminal; at most `max_bytes`
// of it, cut between UTF-8 sequences, with "..." for the rest.
std::string one_line(std::string_view text, std::size_t max_bytes = 200);

// Bytes that are no UTF-8, and characters that XML does not allow, as U+FFFD.
std::string valid_text(std::string_view text);

}  // namespace hybridscope
