// What people may write into a session file: names and notes.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

bool is_valid_utf8(std::string_view text);

// Errors (invalid_input): empty, longer than kMaxNameBytes, control characters, invalid UTF-8.
Status check_session_name(std::string_view name);
// Errors (invalid_input): longer than kMaxNoteBytes, a zero byte, invalid UTF-8. Anything else,
// newlines and HTML too, is kept as it is.
Status check_note(std::string_view note);

// The name of a session that is given none: file name of its source without folder and ending, made
// to pass check_session_name with room for a number behind it.
std::string name_of_source(std::string_view source);

}  // namespace hybridscope
