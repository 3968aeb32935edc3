// Copies of host states on a device. Not for other folders: it includes CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/state/state_layout.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_context.h"

namespace hybridscope {

// States that overlap in host memory overlap on the device; others lie 256 bytes or more apart.
class DeviceStates {
 public:
  // Copies the bytes on the stream and waits for it. Errors: too little memory on the device, the
  // device's.
  static Result<DeviceStates> upload(HostStateBytes states, const LaunchContext& context);

  // [states] where element [0, 0, ...] of each lies on the device.
  std::span<std::byte* const> bases() const { return bases_; }
  // Copies the device's bytes to where they came from; waits for the stream.
  Status download(const LaunchContext& context) const;

 private:
  // A run of host bytes that states share, and where it lies on the device.
  struct Run {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    std::int64_t offset = 0;
  };
  static std::vector<Run> runs_of(HostStateBytes states);
  std::byte* base_of(std::span<std::byte> state) const;
  Status copy_all(cudaMemcpyKind kind, const LaunchContext& context) const;

  std::vector<Run> runs_;  // ascending
  DeviceMemory memory_;
  std::vector<std::byte*> bases_;
};

}  // namespace hybridscope
