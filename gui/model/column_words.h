// The heading of a list's column and its tooltip, shared by panels and by copies of what they show.
#pragma once

#include <string_view>

namespace hybridscope {

struct ColumnWords {
  std::string_view title;      // a literal, so it ends with a NUL
  std::string_view help = {};  // a tooltip; empty: none
  bool words = false;          // its cells may be cut with "..."; those of numbers may not
};

}  // namespace hybridscope
