#include "kernels/cuda/device_states.h"

#include <algorithm>
#include <functional>

#include "core/base/math.h"
#include "kernels/cuda/cuda_check.h"

namespace hybridscope {

std::vector<DeviceStates::Run> DeviceStates::runs_of(HostStateBytes states) {
  std::vector<std::span<std::byte>> sorted(states.begin(), states.end());
  std::ranges::sort(sorted, std::less<>{}, [](const auto& state) { return state.data(); });
  std::vector<Run> runs;
  for (const std::span<std::byte> state : sorted) {
    std::byte* end = state.data() + state.size();
    if (runs.empty() || state.data() >= runs.back().end)
      runs.push_back({.begin = state.data(), .end = end});
    else
      runs.back().end = std::max(runs.back().end, end, std::less<>{});
  }
  std::int64_t offset = 0;
  for (Run& run : runs) {
    run.offset = offset;
    offset = round_up(offset + (run.end - run.begin), std::int64_t{256});
  }
  return runs;
}

// An empty state has no run of its own: it is where the memory begins.
std::byte* DeviceStates::base_of(std::span<std::byte> state) const {
  const auto run = std::ranges::find_if(runs_, [&](const Run& candidate) {
    return !std::less<>{}(state.data(), candidate.begin) &&
           std::less<>{}(state.data(), candidate.end);
  });
  if (run == runs_.end()) return memory_.data();
  return memory_.data() + run->offset + (state.data() - run->begin);
}

Status DeviceStates::copy_all(cudaMemcpyKind kind, const LaunchContext& context) const {
  for (const Run& run : runs_) {
    const auto size = static_cast<std::size_t>(run.end - run.begin);
    std::byte* there = memory_.data() + run.offset;
    const bool to_device = kind == cudaMemcpyHostToDevice;
    HS_CUDA(context.device, cudaMemcpyAsync, to_device ? there : run.begin,
            to_device ? run.begin : there, size, kind, context.stream);
  }
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

Result<DeviceStates> DeviceStates::upload(HostStateBytes states, const LaunchContext& context) {
  DeviceStates result;
  result.runs_ = runs_of(states);
  if (!result.runs_.empty()) {
    const Run& last = result.runs_.back();
    if (Status status =
            result.memory_.reserve(context.device, last.offset + (last.end - last.begin));
        !status)
      return status.error();
  }
  if (Status status = result.copy_all(cudaMemcpyHostToDevice, context); !status)
    return status.error();
  for (const std::span<std::byte> state : states) result.bases_.push_back(result.base_of(state));
  return Result<DeviceStates>(std::move(result));
}

Status DeviceStates::download(const LaunchContext& context) const {
  return copy_all(cudaMemcpyDeviceToHost, context);
}

}  // namespace hybridscope
