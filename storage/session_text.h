// Checks text that users write into a session file: names and notes.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hybridscope {

// Error invalid_input: empty, longer than kMaxNameBytes, control characters, invalid UTF-8.
Status check_session_name(std::string_view name);
// Error invalid_input: longer than kMaxNoteBytes, a zero byte, invalid UTF-8. Everything else,
// including newlines and HTML, is kept unchanged.
Status check_note(std::string_view note);

// The default name of a session: its source's file name without folder and ending, changed to pass
// check_session_name and to leave room for a number after it.
std::string name_of_source(std::string_view source);

}  // namespace hybridscope
