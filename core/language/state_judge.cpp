#include "core/language/state_judge.h"

#include <bit>
#include <cmath>
#include <limits>

namespace hybridscope {
namespace {

// The place's elements in one layer; empty: the window passes the block's end.
std::span<const float> elements_at(const LayerMemory& layer, const RowState& place,
                                   std::size_t count, std::int32_t conv_dim) {
  if (place.kind == StateKind::temporal) return layer.temporal.block(place.block);
  const std::span<const float> block = layer.conv.block(place.block);
  const auto first = static_cast<std::size_t>(place.first_position * conv_dim);
  return first + count <= block.size() ? block.subspan(first, count) : std::span<const float>();
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

// Counts the elements that differ. False: none does.
bool compare(std::span<const float> truth, std::span<const float> seen, StateDifference& found) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (same_bits(truth[i], seen[i])) continue;
    if (found.num_elements++ == 0) found.first_element = static_cast<std::int64_t>(i);
    const double difference =
        std::abs(static_cast<double>(truth[i]) - static_cast<double>(seen[i]));
    found.largest = std::isnan(difference) ? std::numeric_limits<double>::infinity()
                                           : std::max(found.largest, difference);
  }
  return found.num_elements > 0;
}

}  // namespace

void append_differences(const NumericMemory& memory, const JudgedPlace& judged,
                        std::vector<StateDifference>& out) {
  const RowState& place = judged.place;
  for (std::size_t i = 0; i < judged.truth.size(); ++i) {
    if (memory.group_of_layer()[i] != judged.group) continue;
    const LayerStates& states = judged.truth[i];
    const std::vector<float>& truth =
        place.kind == StateKind::temporal ? states.temporal : states.conv;
    if (truth.empty()) continue;
    StateDifference found{.row = place.row,
                          .group = judged.group,
                          .layer = static_cast<std::int32_t>(i),
                          .kind = place.kind,
                          .is_read = place.num_tokens == 0,
                          .block = place.block};
    const auto seen = elements_at(memory.layers()[i], place, truth.size(), memory.conv_dim(i));
    if (!seen.empty() && compare(truth, seen, found)) out.push_back(found);
  }
}

}  // namespace hybridscope
