#include "sessions/judge/compared_step.h"

#include <algorithm>

namespace hybridscope {
namespace {

std::string block_text(std::span<const std::int32_t> ids, std::size_t column) {
  return column < ids.size() ? fmt::format("block {}", ids[column]) : std::string("no block");
}

}  // namespace

MaybeDifference compare_blocks(const EngineDifference& place,
                               std::span<const std::int32_t> expected,
                               std::span<const std::int32_t> told) {
  const auto [ours, theirs] = std::ranges::mismatch(expected, told);
  if (ours == expected.end() && theirs == told.end()) return std::nullopt;
  const auto column = static_cast<std::size_t>(ours - expected.begin());
  EngineDifference found = place;
  found.column = static_cast<std::int32_t>(column);
  found.expected = block_text(expected, column);
  found.told = block_text(told, column);
  return found;
}

}  // namespace hybridscope
