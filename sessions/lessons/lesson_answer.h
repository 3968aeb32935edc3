// Answers as text: those of a lesson's author, of somebody who learns, and of the engine, in the
// same words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {

// The answer in the words of break_value_words(): " 07" is "7", "True" is "yes", "Within-block
// shift" is "within_block_shift". Empty for what the field can never be.
std::optional<std::string> canonical_answer(const BreakField& field, std::string_view text);

// "a whole number", "yes or no", "one of decode, verify, prefill, padding", "the name of a
// request".
std::string answer_kind(const BreakField& field);

}  // namespace hybridscope
