// Recomputes what a text says in numbers: "c = 6 + 2 - 1 rejected = 7", "16 < 24", "end of block
// floor(9 / 8) * 8 = 8". Knows nothing about what the text is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hybridscope::test {

// The value of "known 20 - hit 8 (of block 3) - 1". Words, and brackets with words, are left out.
// Empty: what remains is no formula, as of "c + q - d".
std::optional<double> value_of(std::string_view formula);

struct Equations {
  int num_checked = 0;
  std::vector<std::string> wrong = {};  // as printed
};

// All neighbours with "=", "!=", "<", "<=", ">" or ">=" between them of which both are formulas.
// Clauses end at ";", ":", "," and at the end of a line.
Equations check_equations(std::string_view text);

}  // namespace hybridscope::test
