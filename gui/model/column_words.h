// What stands over a column of a list, and what it means: said once for panels and for copies of
// what they show.
#pragma once

#include <string_view>

namespace hybridscope {

struct ColumnWords {
  std::string_view title;      // of a literal: ends with a NUL
  std::string_view help = {};  // a tooltip; empty: none
};

}  // namespace hybridscope
