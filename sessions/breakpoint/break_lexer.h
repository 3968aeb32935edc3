// Splits a break expression into words, numbers and operators, each with its place in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

enum class BreakTokenKind : std::uint8_t { number, word, op, end };

struct BreakToken {
  BreakTokenKind kind = BreakTokenKind::end;
  std::string text;         // a quoted word without its quotes
  std::int64_t number = 0;  // value of a number
  bool is_quoted = false;
  std::size_t begin = 0;  // bytes [begin, end) of the expression
  std::size_t end = 0;
};

// The last token is `end`. Error invalid_input: an unknown character, a number that does not fit 64
// bits, a quote that is not closed.
Result<std::vector<BreakToken>> read_break_tokens(std::string_view text);

// Three lines: the message, the expression, and marks under its bytes [begin, end).
Error break_error(std::string_view text, std::size_t begin, std::size_t end,
                  const std::string& message);

}  // namespace hybridscope
