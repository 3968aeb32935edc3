// What a CudaStateBackend owns on its device. Not for other folders: it includes CUDA's headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/result.h"
#include "core/state/state_memory.h"
#include "kernels/copy_bodies.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/memory_map.h"
#include "kernels/step_plan.h"

namespace hybridscope {

// Device arrays of results, and the host memory they are copied to.
class DeviceResults {
 public:
  Status reserve(int device, std::int64_t num_bytes);
  std::byte* device() const { return device_.data(); }
  template <class T>
  const T* host() const {
    return reinterpret_cast<const T*>(host_.data());
  }
  // Waits for the stream.
  Status fetch(const std::byte* from, std::int64_t num_bytes, const LaunchContext& context);

 private:
  DeviceMemory device_;
  PinnedMemory host_;
};

// Bytes of the room for contents and blocks.
inline constexpr std::size_t kUploadBytes = std::size_t{1} << 20;

// Streams and memory belong to a device; the memory is freed before the stream.
struct CudaStateBackend::Content {
  StateMemory memory;
  LaunchContext context;
  Stream stream;
  DeviceMemory pages;  // [num_buffers, num_blocks, page_size_bytes]
  MemoryMap map;       // device addresses
  DeviceMap device_map;
  std::unique_ptr<StepPlanner> planner;
  DeviceStep step;
  ArrayPiece piece;
  DeviceUpload upload;  // contents, blocks
  DeviceResults results;
  StateDelays at_creation;

  // Waits for the device: nothing may be in use when it is freed.
  ~Content();

  // Allocates the memory and room for the largest step, sends the device map, and writes poison
  // everywhere. Requires: memory, context.device.
  Status allocate(const StepSize& largest_step);
  // Delays since creation.
  StateDelays delays() const;
  // Makes the device current on this thread.
  Status select() const;
  // Sends the contents to the device.
  Result<ContentArrays> send_contents(const BlockContents& contents);
};

}  // namespace hybridscope
