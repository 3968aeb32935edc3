// Answers as text. The author's, the learner's and the engine's answers use the same words.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {

// The answer in the words of break_value_words(): " 07" becomes "7", "True" becomes "yes",
// "Within-block shift" becomes "within_block_shift". Empty for a value that the field can never
// have.
std::optional<std::string> canonical_answer(const BreakField& field, std::string_view text);

// "a whole number", "yes or no", "one of decode, verify, prefill, padding", "the name of a
// request".
std::string answer_kind(const BreakField& field);

}  // namespace hybridscope
