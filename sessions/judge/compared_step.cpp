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
                               std::span<const std::int32_t> traced) {
  const auto [ours, theirs] = std::ranges::mismatch(expected, traced);
  if (ours == expected.end() && theirs == traced.end()) return std::nullopt;
  const auto column = static_cast<std::size_t>(ours - expected.begin());
  EngineDifference found = place;
  found.column = static_cast<std::int32_t>(column);
  found.expected = block_text(expected, column);
  found.traced = block_text(traced, column);
  return found;
}

}  // namespace hybridscope
