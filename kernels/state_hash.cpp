#include "kernels/state_hash.h"

#include <algorithm>
#include <string>

namespace hybridscope {
namespace {

constexpr std::int64_t kMostUnits = std::int64_t{1} << 40;
constexpr std::int32_t kMostOrdinals = std::int32_t{1} << 24;

Status check_view(const HashView& view) {
  const std::string state = "state " + std::to_string(view.ordinal) + ": ";
  if (view.data == nullptr) return invalid_input(state + "no address");
  if (view.ordinal < 0 || view.ordinal >= kMostOrdinals)
    return invalid_input(state + "expected an ordinal of 0 to 16777215");
  if (std::min({view.num_bytes, view.num_positions, view.num_channels, view.block_stride}) < 0)
    return invalid_input(state + "a size is negative");
  if (view.num_units() > kMostUnits) return invalid_input(state + "too large");
  if (view.is_conv() && view.elem_size != 1 && view.elem_size != 2 && view.elem_size != 4)
    return invalid_input(state + "elements of " + std::to_string(view.elem_size) +
                         " bytes, expected 1, 2 or 4");
  return Ok{};
}

}  // namespace

std::int64_t num_sums(const HashedStates& states) {
  std::int64_t positions = 0;
  for (const HashView& view : states.views) positions = std::max(positions, view.num_positions);
  return 1 + positions;
}

Status check_hashed(const HashedStates& states) {
  if (states.num_blocks < 0)
    return invalid_input("states of " + std::to_string(states.num_blocks) + " blocks");
  for (const HashView& view : states.views)
    if (Status status = check_view(view); !status) return status;
  return Ok{};
}

}  // namespace hybridscope
