#include "kernels/cpu/state_copy_cpu.h"

#include <array>
#include <cstring>

#include "core/base/check.h"
#include "core/state/copy_of_state.h"
#include "kernels/cpu/elements_cpu.h"

namespace hybridscope {
namespace {

std::int64_t region_end(const StateCopy& copy, std::int64_t start) {
  return start + (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
}

// One call with the offset of each row, in the direction of the shift.
template <class Move>
void for_each_row_in_order(const StateCopy& copy, const Move& move) {
  const bool downwards = copy.dst_byte_offset <= copy.src_byte_offset;
  for (std::int64_t i = 0; i < copy.num_rows; ++i)
    move((downwards ? i : copy.num_rows - 1 - i) * copy.row_stride_bytes);
}

// Moves rows of a compile-time size: a call of memmove per row would cost more than the copy.
template <std::size_t kBytes>
void move_short_rows(const StateCopy& copy, std::byte* to, const std::byte* from) {
  for_each_row_in_order(copy, [&](std::int64_t offset) {
    std::array<std::byte, kBytes> row;
    std::memcpy(row.data(), from + offset, kBytes);
    std::memcpy(to + offset, row.data(), kBytes);
  });
}

}  // namespace

// Rows do not overlap each other and both sides have one stride, so moving them in the direction of
// the shift never overwrites a source row that is still to be read.
void move_rows(const StateCopy& copy, std::byte* state) {
  if (copy.num_rows <= 0 || copy.row_bytes <= 0) return;
  std::byte* to = state + copy.dst_byte_offset;
  const std::byte* from = state + copy.src_byte_offset;
  if (copy.num_rows == 1 || copy.row_bytes == copy.row_stride_bytes) {
    std::memmove(to, from, static_cast<std::size_t>(copy.num_rows * copy.row_bytes));
    return;
  }
  switch (copy.row_bytes) {
    case 2:
      return move_short_rows<2>(copy, to, from);
    case 4:
      return move_short_rows<4>(copy, to, from);
    case 6:
      return move_short_rows<6>(copy, to, from);
    case 8:
      return move_short_rows<8>(copy, to, from);
    case 10:
      return move_short_rows<10>(copy, to, from);
    case 12:
      return move_short_rows<12>(copy, to, from);
    case 16:
      return move_short_rows<16>(copy, to, from);
    default:
      for_each_row_in_order(copy, [&](std::int64_t offset) {
        std::memmove(to + offset, from + offset, static_cast<std::size_t>(copy.row_bytes));
      });
  }
}

void execute_copy(const StateCopy& copy, std::span<std::byte> state) {
  if (copy.num_rows <= 0 || copy.row_bytes <= 0) return;
  const auto size = static_cast<std::int64_t>(state.size());
  HS_EXPECT(copy.src_byte_offset >= 0 && region_end(copy, copy.src_byte_offset) <= size);
  HS_EXPECT(copy.dst_byte_offset >= 0 && region_end(copy, copy.dst_byte_offset) <= size);
  HS_EXPECT(copy.num_rows == 1 || copy.row_bytes <= copy.row_stride_bytes);
  move_rows(copy, state.data());
}

Status execute_copies(std::span<const StateCopy> copies, HostStateBytes states) {
  for (const StateCopy& copy : copies) {
    HS_EXPECT(copy.state_index >= 0 && static_cast<std::size_t>(copy.state_index) < states.size());
    execute_copy(copy, states[static_cast<std::size_t>(copy.state_index)]);
  }
  return Ok{};
}

namespace {

// One call with (state, copy) for each state of the copy's group, in order.
template <class Use>
void for_each_state(const MemoryMap& map, const StateCopyOp& op, const Use& use) {
  for_each_copy_of_state(map, op, [&](const CopyOfState& made) {
    use(map.states[static_cast<std::size_t>(made.copy.state_index)], made);
  });
}

template <class Use>
void for_each_row(const StateCopy& copy, const Use& use) {
  if (copy.row_bytes == 0) return;
  for (std::int64_t row = 0; row < copy.num_rows; ++row) use(row * copy.row_stride_bytes);
}

void poison_target(const StateView& state, const StateCopy& copy) {
  for_each_row(copy, [&](std::int64_t offset) {
    fill_poison(state.data + copy.dst_byte_offset + offset, copy.row_bytes);
  });
}

}  // namespace

void PlanCopiesCpu::run(const MemoryMap& map, std::span<const StateCopyOp> copies) {
  if (copies.size() > 1 && conflicts_.found_in(copies)) return run_staged(map, copies);
  for (const StateCopyOp& op : copies)
    for_each_state(map, op, [](const StateView& state, const CopyOfState& made) {
      if (made.poison)
        poison_target(state, made.copy);
      else
        move_rows(made.copy, state.data);
    });
}

void PlanCopiesCpu::run_staged(const MemoryMap& map, std::span<const StateCopyOp> copies) {
  staging_.clear();
  const auto save = [this](const StateView& state, const CopyOfState& made) {
    if (made.poison) return;
    for_each_row(made.copy, [&](std::int64_t offset) {
      const std::byte* from = state.data + made.copy.src_byte_offset + offset;
      staging_.insert(staging_.end(), from, from + made.copy.row_bytes);
    });
  };
  for (const StateCopyOp& op : copies) for_each_state(map, op, save);
  const std::byte* next = staging_.data();
  const auto write = [&next](const StateView& state, const CopyOfState& made) {
    if (made.poison) return poison_target(state, made.copy);
    for_each_row(made.copy, [&](std::int64_t offset) {
      std::memcpy(state.data + made.copy.dst_byte_offset + offset, next,
                  static_cast<std::size_t>(made.copy.row_bytes));
      next += made.copy.row_bytes;
    });
  };
  for (const StateCopyOp& op : copies) for_each_state(map, op, write);
}

}  // namespace hybridscope
