// A StepPlan as bodies, in order: whoever has the arrays where its bodies run gives them to
// `run`.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "kernels/copy_bodies.h"
#include "kernels/forward_bodies.h"
#include "kernels/memory_view.h"
#include "kernels/poison_body.h"
#include "kernels/step_plan.h"

namespace hybridscope {

// Pointers that are good where the bodies run.
struct StepArrays {
  MemoryView memory;
  StateRange widest_group;
  const std::int32_t* poisoned = nullptr;
  const StateCopyOp* copies = nullptr;
  ForwardArrays forward;
  const TemporalWrite* temporal_writes = nullptr;
  std::byte* staging = nullptr;  // [StepPlan::most_saved, staging_stride]
  const std::int64_t* staging_offsets = nullptr;
  std::int64_t staging_stride = 0;
};

inline CopyBody copy_body(const StepArrays& arrays, const Launch& launch, CopyStage stage) {
  // Where a copy lies in the second buffer is counted from the launch that saved it.
  const std::int64_t saved = launch.first - launch.launch_first;
  return {.memory = arrays.memory,
          .copies = arrays.copies + launch.first,
          .stage = stage,
          .staging =
              stage == CopyStage::direct ? nullptr : arrays.staging + saved * arrays.staging_stride,
          .staging_offsets = arrays.staging_offsets,
          .staging_stride = arrays.staging_stride};
}

// Calls run(body, number of items) -> Status.
template <class Run>
Status run_launch(const Launch& launch, const StepArrays& arrays, const Run& run) {
  const MemoryView& memory = arrays.memory;
  const std::int64_t count = launch.count;
  switch (launch.kind) {
    case LaunchKind::poison:
      return run(PoisonBody{memory, arrays.widest_group, arrays.poisoned + launch.first},
                 count * arrays.widest_group.count);
    case LaunchKind::copy:
      return run(copy_body(arrays, launch, CopyStage::direct), count * memory.most_states);
    case LaunchKind::save_copies:
      return run(copy_body(arrays, launch, CopyStage::save), count * memory.most_states);
    case LaunchKind::write_copies:
      return run(copy_body(arrays, launch, CopyStage::write), count * memory.most_states);
    case LaunchKind::fold:
      return run(FoldBody{memory, arrays.forward, launch.first}, count);
    case LaunchKind::write_temporal:
      return run(TemporalBody{memory, arrays.forward, arrays.temporal_writes + launch.first},
                 count * num_folded(memory));
    case LaunchKind::write_conv:
      return run(ConvBody{memory, arrays.forward, launch.first},
                 count * memory.most_layers * memory.num_conv_kinds);
  }
  return Ok{};
}

// Stops at the first error.
template <class Run>
Status run_step(const StepPlan& plan, const StepArrays& arrays, const Run& run) {
  for (const Launch& launch : plan.launches)
    if (Status status = run_launch(launch, arrays, run); !status) return status;
  return Ok{};
}

}  // namespace hybridscope
