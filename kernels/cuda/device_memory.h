// Owners of CUDA resources: device memory, pinned host memory, streams, events. Each belongs to the
// device that was current when it was made. Empty after being moved from.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "core/base/result.h"

namespace hybridscope {

// Errors of freeing are ignored: a lost device reports itself at the next call.
struct FreeDevice {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
struct FreePinned {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};
struct DestroyStream {
  void operator()(cudaStream_t stream) const { static_cast<void>(cudaStreamDestroy(stream)); }
};
struct DestroyEvent {
  void operator()(cudaEvent_t event) const { static_cast<void>(cudaEventDestroy(event)); }
};

using Stream = std::unique_ptr<std::remove_pointer_t<cudaStream_t>, DestroyStream>;
using Event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, DestroyEvent>;

Result<Stream> make_stream(int device);
Result<Event> make_event(int device);

// Memory of the device that only grows; what it held is lost when it does.
class DeviceMemory {
 public:
  std::byte* data() const { return memory_.get(); }
  std::int64_t size() const { return size_; }  // bytes
  // Waits for the device when it has to grow. Error: the device has fewer bytes left; the message
  // has both numbers.
  Status reserve(int device, std::int64_t num_bytes);
  std::int64_t num_allocations() const { return num_allocations_; }

 private:
  std::unique_ptr<std::byte, FreeDevice> memory_;
  std::int64_t size_ = 0;
  std::int64_t num_allocations_ = 0;
};

// Host memory that copies to and from the device run from without waiting.
class PinnedMemory {
 public:
  std::byte* data() const { return memory_.get(); }
  // Requires: no copy from or to it is in progress.
  Status reserve(int device, std::int64_t num_bytes);
  std::int64_t num_allocations() const { return num_allocations_; }

 private:
  std::unique_ptr<std::byte, FreePinned> memory_;
  std::int64_t size_ = 0;
  std::int64_t num_allocations_ = 0;
};

// Error: not_available, with the needed, the free and the total bytes.
Status expect_free_memory(int device, std::int64_t num_bytes);

}  // namespace hybridscope
