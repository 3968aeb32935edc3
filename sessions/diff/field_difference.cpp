#include "sessions/diff/field_difference.h"

#include <fmt/core.h>

namespace hybridscope {

std::string DiffValue::text() const {
  switch (kind) {
    case DiffValueKind::absent:
      return "-";
    case DiffValueKind::number:
      return std::to_string(number);
    case DiffValueKind::flag:
      return number != 0 ? "yes" : "no";
    case DiffValueKind::block:
      return fmt::format("block {}", number);
    case DiffValueKind::hash:
      return fmt::format("{:#018x}", static_cast<std::uint64_t>(number));
    case DiffValueKind::shape: {
      const auto cols = static_cast<std::uint32_t>(number);
      const auto rows = number >> 32;
      return cols == 0 ? fmt::format("[{}]", rows) : fmt::format("[{}, {}]", rows, cols);
    }
    case DiffValueKind::none:
      return "None";
    case DiffValueKind::word:
      return std::string(word);
  }
  return {};
}

}  // namespace hybridscope
