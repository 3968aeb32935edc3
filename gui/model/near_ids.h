// Which ids someone may have meant who typed one that does not exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hybridscope {

struct NamedId {
  std::string_view id;     // "batch_rows"
  std::string_view title;  // "Batch rows"
};

// ", did you mean "batch_rows" or "findings"?": four ids at most, first those whose id or title has
// the typed words at the beginnings of its words, then those spelled nearly so. Empty: there is
// none.
std::string near_ids_hint(std::string_view typed, const std::vector<NamedId>& known);

}  // namespace hybridscope
