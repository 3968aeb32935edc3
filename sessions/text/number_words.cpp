#include "sessions/text/number_words.h"

#include <fmt/core.h>

namespace hybridscope {

std::string grouped_number(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::ptrdiff_t first = value < 0 ? 1 : 0;
  for (auto place = static_cast<std::ptrdiff_t>(text.size()) - 3; place > first; place -= 3)
    text.insert(static_cast<std::size_t>(place), 1, ',');
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped_number(count), noun, count == 1 ? "" : "s");
}

}  // namespace hybridscope
