// A break expression as a tree, checked against the table of fields.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sessions/breakpoint/break_fields.h"

namespace hybridscope {

enum class BreakOp : std::uint8_t {
  constant,    // value
  field,       // of the picked element of `kind`
  exists,      // the step has an element of `kind`
  is_request,  // field of type request, compared with the name `text`; value 1: not equal
  either,      // ||
  both,        // &&
  negate,      // !
  equal,
  unequal,
  less,
  less_equal,
  greater,
  greater_equal,
  add,
  subtract,
  multiply,
  divide,
  remainder,
  minus,  // -x
};

struct BreakNode {
  BreakOp op = BreakOp::constant;
  std::int32_t left = -1;  // index of a node; -1: none
  std::int32_t right = -1;
  std::int64_t value = 0;
  std::int32_t kind = -1;   // index of break_kinds()
  std::int32_t field = -1;  // index of the kind's fields
  std::string text;
};

struct BreakTree {
  std::vector<BreakNode> nodes;  // children before their parents, the last one is the root
};

// A field, by its place in the table.
struct BreakFieldPlace {
  std::int32_t kind = -1;   // index of break_kinds()
  std::int32_t field = -1;  // index of the kind's fields
};

// Parses text that is only the name of a field. Errors: those of parse_break.
Result<BreakFieldPlace> parse_break_field(std::string_view text,
                                          const std::vector<BreakKind>& kinds);

// Error invalid_input: what is wrong, with marks in the expression (break_parser.h).
Result<BreakTree> parse_break(std::string_view text, const std::vector<BreakKind>& kinds);

// Splits a break expression into words, numbers and operators, each with its place in the text.

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
