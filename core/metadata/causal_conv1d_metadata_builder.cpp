#include "core/metadata/causal_conv1d_metadata_builder.h"

#include <algorithm>
#include <limits>
#include <string>

#include "core/base/ids.h"
#include "core/base/math.h"
#include "core/metadata/persistent_buffer.h"

namespace hybridscope {
namespace {

constexpr std::int32_t kMinPrograms = 1024;

std::int32_t pointer_array_length(std::int32_t tot) { return 2 * std::max(kMinPrograms, tot); }

}  // namespace

void CausalConv1dMetadataBuilder::clear_and_reserve(std::int32_t tot) {
  for (std::vector<std::int32_t>* array : {&batch_ptr_, &token_chunk_offset_ptr_}) {
    if (tot < dirty_) std::fill(array->begin() + tot, array->begin() + dirty_, kPadSlotId);
    const auto length = static_cast<std::size_t>(pointer_array_length(tot));
    if (array->size() < length) array->resize(length, kPadSlotId);
  }
  dirty_ = tot;
}

Result<CausalConv1dMetadata> CausalConv1dMetadataBuilder::compute(
    std::span<const std::int32_t> query_start_loc) {
  if (query_start_loc.empty()) return invalid_input("query_start_loc is empty");
  const std::size_t rows = query_start_loc.size() - 1;
  std::int32_t* nums = grown(nums_, static_cast<std::int64_t>(rows));
  std::int64_t tot = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t len = query_start_loc[row + 1] - query_start_loc[row];
    nums[row] = floor_div(len + kCausalConv1dBlockM - 1, kCausalConv1dBlockM);
    if (nums[row] < 0)
      return invalid_input("row " + std::to_string(row) + " has " + std::to_string(len) +
                           " tokens");
    tot += nums[row];
  }
  if (tot > std::numeric_limits<std::int32_t>::max() / 2)
    return invalid_input("too many conv programs: " + std::to_string(tot));

  const auto programs = static_cast<std::int32_t>(tot);
  clear_and_reserve(programs);
  std::int32_t* batch = batch_ptr_.data();
  std::int32_t* offset = token_chunk_offset_ptr_.data();
  for (std::size_t row = 0; row < rows; ++row) {
    const std::int32_t n = nums[row];
    batch = std::fill_n(batch, n, static_cast<std::int32_t>(row));
    for (std::int32_t k = 0; k < n; ++k) offset[k] = k;
    offset += n;
  }
  const std::int32_t length = pointer_array_length(programs);
  return CausalConv1dMetadata{
      .present = true,
      .tot = programs,
      .nums = vector_view<std::int32_t>(nums, static_cast<std::int32_t>(rows)),
      .batch_ptr = vector_view<std::int32_t>(batch_ptr_.data(), length),
      .token_chunk_offset_ptr = vector_view<std::int32_t>(token_chunk_offset_ptr_.data(), length)};
}

}  // namespace hybridscope
