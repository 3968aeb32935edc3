// Facts for tooltips and details, one per line.
#pragma once

#include <string>

namespace hybridscope {

struct Fact {
  std::string label;
  std::string value;
  friend bool operator==(const Fact&, const Fact&) = default;
};

}  // namespace hybridscope
