// A break expression as words, numbers and operators, each with its place in the text.
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
  std::string text;         // without the quotes of a quoted word
  std::int64_t number = 0;  // of a number
  bool is_quoted = false;
  std::size_t begin = 0;  // bytes [begin, end) of the expression
  std::size_t end = 0;
};

// The last one is `end`. Error invalid_input: a character that belongs to nothing, a number that
// does not fit 64 bits, a quote that is not closed.
Result<std::vector<BreakToken>> read_break_tokens(std::string_view text);

// The message, then the expression with its bytes [begin, end) marked, as three lines.
Error break_error(std::string_view text, std::size_t begin, std::size_t end,
                  const std::string& message);

}  // namespace hybridscope
