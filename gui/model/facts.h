// What is known of something, one fact a line: tooltips and details.
#pragma once

#include <string>

namespace hybridscope {

struct Fact {
  std::string label;
  std::string value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

}  // namespace hybridscope
