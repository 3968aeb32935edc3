#include "sessions/diff/field_difference.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

namespace hybridscope {
namespace {

// What stands in the place of the number of columns where there are none.
constexpr std::uint32_t kOneDimension = 0xFFFFFFFF;
constexpr std::uint32_t kNoDimension = 0xFFFFFFFE;

std::string shape_text(std::int64_t shape) {
  const auto cols = static_cast<std::uint32_t>(shape);
  if (cols == kNoDimension) return "[]";
  return cols == kOneDimension ? fmt::format("[{}]", shape >> 32)
                               : fmt::format("[{}, {}]", shape >> 32, cols);
}

}  // namespace

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
    case DiffValueKind::shape:
      return shape_text(number) + (word.empty() ? "" : fmt::format(" {}", word));
    case DiffValueKind::none:
      return "None";
    case DiffValueKind::word:
      return std::string(word);
  }
  return {};
}

DiffValue array_shape_value(std::int32_t dims, std::int32_t rows, std::int32_t cols,
                            std::string_view dtype) {
  const std::uint32_t low = dims == 0   ? kNoDimension
                            : dims == 1 ? kOneDimension
                                        : static_cast<std::uint32_t>(cols);
  return {DiffValueKind::shape, static_cast<std::int64_t>(rows) << 32 | low, dtype};
}

std::string place_text(const FieldDifference& difference) {
  std::vector<std::string> parts;
  if (!difference.part.empty() && difference.part != difference.field)
    parts.emplace_back(difference.part);
  if (!difference.detail.empty()) parts.emplace_back(difference.detail);
  if (difference.group >= 0) parts.push_back(fmt::format("group {}", difference.group));
  if (difference.column >= 0) parts.push_back(fmt::format("column {}", difference.column));
  if (difference.occurrence > 0) parts.push_back(fmt::format("no. {}", difference.occurrence));
  if (difference.index >= 0)
    parts.push_back(difference.num_columns == 0
                        ? fmt::format("element {}", difference.index)
                        : fmt::format("element [{}, {}]", difference.index / difference.num_columns,
                                      difference.index % difference.num_columns));
  if (difference.num_elements > 1)
    parts.push_back(fmt::format("{} differ", difference.num_elements));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace hybridscope
