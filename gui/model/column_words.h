// The heading of a list's column and its tooltip, shared by panels and by copies of what they show.
#pragma once

#include <cstdint>
#include <string_view>

namespace hybridscope {

enum class ColumnKind : std::uint8_t {
  number,  // never cut, aligned right
  words,   // never cut
  name,    // of a request: the first that gives way, its middle cut out with "..."
  remark,  // gives way after names, cut with "..."
};

struct ColumnWords {
  std::string_view title;      // a literal, so it ends with a NUL
  std::string_view help = {};  // a tooltip; empty: none
  ColumnKind kind = ColumnKind::number;
};

}  // namespace hybridscope
