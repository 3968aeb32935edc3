// Turns a StepPlan into bodies, in order. The caller provides the arrays where the bodies run, and
// `run`, which launches a body.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/result.h"
#include "kernels/copy_bodies.h"
#include "kernels/forward_bodies.h"
#include "kernels/memory_view.h"
#include "kernels/step_plan.h"

namespace hybridscope {

// Pointers that are valid where the bodies run.
struct StepArrays {
  MemoryView memory;
  StateRange widest_group;
  const std::int32_t* poisoned = nullptr;
  const StateCopyOp* copies = nullptr;
  ForwardArrays forward;
  const TemporalWrite* temporal_writes = nullptr;
  std::uint32_t* scratch = nullptr;  // [scratch_size] elements, at least least_scratch()
  std::int64_t scratch_size = 0;
};

// Elements of scratch for one lane of `most_meeting` copies.
inline std::int64_t least_scratch(const MemoryView& memory, std::int64_t most_meeting) {
  return most_meeting * memory.most_positions;
}

// Runs copies that meet, as many lanes at a time as the scratch has room for.
template <class Run>
Status run_meeting_copies(const Launch& launch, const StepArrays& arrays, const Run& run) {
  const MemoryView& memory = arrays.memory;
  const std::int64_t num_lanes = memory.most_states * memory.most_lanes();
  const std::int64_t at_once = arrays.scratch_size / least_scratch(memory, launch.count);
  HS_EXPECT(at_once > 0);
  for (std::int64_t first = 0; first < num_lanes; first += at_once)
    if (Status status = run(MeetingCopiesBody{.memory = memory,
                                              .copies = arrays.copies + launch.first,
                                              .num_copies = launch.count,
                                              .first_lane = first,
                                              .num_lanes = std::min(at_once, num_lanes - first),
                                              .scratch = arrays.scratch},
                            1);
        !status)
      return status;
  return Ok{};
}

// Calls run(body, number of items) -> Status.
template <class Run>
Status run_launch(const Launch& launch, const StepArrays& arrays, const Run& run) {
  const MemoryView& memory = arrays.memory;
  const std::int64_t count = launch.count;
  switch (launch.kind) {
    case LaunchKind::poison:
      return run(ClearBody{memory, arrays.widest_group, arrays.poisoned + launch.first},
                 count * arrays.widest_group.count);
    case LaunchKind::copy:
      return run(CopyBody{memory, arrays.copies + launch.first}, count * memory.most_states);
    case LaunchKind::meeting_copies: return run_meeting_copies(launch, arrays, run);
    case LaunchKind::fold: return run(FoldBody{memory, arrays.forward, launch.first}, count);
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
