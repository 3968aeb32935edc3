// Owners of CUDA resources: device memory, pinned host memory, streams, events. Each belongs to the
// device that was current when it was made. Empty after being moved from. Also return codes of the
// CUDA runtime as errors.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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

// "CUDA device 0: cudaMemcpyAsync: an illegal memory access was encountered
// (cudaErrorIllegalAddress)", kind device.
Error cuda_error(cudaError_t code, const char* call, int device);

// Ok, or that error. `call` names what was called.
Status cuda_status(cudaError_t code, const char* call, int device);
// On the current device. `call` says more: "cudaMalloc of 4096 bytes".
Status cuda_status(cudaError_t code, const std::string& call);

}  // namespace hybridscope

// In a function that returns Status or Result: leaves it with the error of `function(...)`.
#define HS_CUDA(device, function, ...)                                             \
  do {                                                                             \
    if (const cudaError_t hs_code = function(__VA_ARGS__); hs_code != cudaSuccess) \
      return ::hybridscope::cuda_error(hs_code, #function, device);                \
  } while (false)
