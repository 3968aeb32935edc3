#include "kernels/cpu/state_copy_cpu.h"

#include <cstring>

#include "core/base/check.h"

namespace hybridscope {
namespace {

std::int64_t region_end(const StateCopy& copy, std::int64_t start) {
  return start + (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
}

}  // namespace

// Rows do not overlap each other and both sides have one stride, so moving them in the direction of
// the shift never overwrites a source row that is still to be read.
void execute_copy(const StateCopy& copy, std::span<std::byte> state) {
  if (copy.num_rows <= 0 || copy.row_bytes <= 0) return;
  const auto size = static_cast<std::int64_t>(state.size());
  HS_EXPECT(copy.src_byte_offset >= 0 && region_end(copy, copy.src_byte_offset) <= size);
  HS_EXPECT(copy.dst_byte_offset >= 0 && region_end(copy, copy.dst_byte_offset) <= size);
  HS_EXPECT(copy.num_rows == 1 || copy.row_bytes <= copy.row_stride_bytes);
  const bool downwards = copy.dst_byte_offset <= copy.src_byte_offset;
  for (std::int64_t i = 0; i < copy.num_rows; ++i) {
    const std::int64_t row = downwards ? i : copy.num_rows - 1 - i;
    std::memmove(state.data() + copy.dst_byte_offset + row * copy.row_stride_bytes,
                 state.data() + copy.src_byte_offset + row * copy.row_stride_bytes,
                 static_cast<std::size_t>(copy.row_bytes));
  }
}

void execute_copies(std::span<const StateCopy> copies, StateBytes states) {
  for (const StateCopy& copy : copies) {
    HS_EXPECT(copy.state_index >= 0 && static_cast<std::size_t>(copy.state_index) < states.size());
    execute_copy(copy, states[static_cast<std::size_t>(copy.state_index)]);
  }
}

std::vector<std::byte> read_state(const StateTensor& tensor, std::span<const std::byte> state) {
  const std::size_t dims = tensor.shape.size();
  HS_EXPECT(dims > 0 && tensor.stride.size() == dims);
  const auto elem_size = static_cast<std::size_t>(tensor.elem_size);
  std::vector<std::byte> dense(
      static_cast<std::size_t>(tensor.elements_per_block() * tensor.shape[0]) * elem_size);
  std::vector<std::int64_t> index(dims, 0);
  std::int64_t element = 0;  // offset of `index` in the strided tensor
  for (std::size_t to = 0; to < dense.size(); to += elem_size) {
    const std::size_t from = static_cast<std::size_t>(element) * elem_size;
    HS_EXPECT(from + elem_size <= state.size());
    std::memcpy(dense.data() + to, state.data() + from, elem_size);
    for (std::size_t axis = dims; axis-- > 0;) {
      element += tensor.stride[axis];
      if (++index[axis] < tensor.shape[axis]) break;
      element -= tensor.stride[axis] * tensor.shape[axis];
      index[axis] = 0;
    }
  }
  return dense;
}

}  // namespace hybridscope
