#include "kernels/cpu/plan_copies_cpu.h"

#include <cstring>

#include "core/state/copy_of_state.h"
#include "kernels/cpu/elements_cpu.h"
#include "kernels/cpu/state_copy_cpu.h"

namespace hybridscope {
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
