#include "kernels/cuda/device_memory.h"

#include <algorithm>

namespace hybridscope {
namespace {

// Grows by more than asked for, so that memory that grows a little each step is not reallocated
// each step.
std::int64_t grown(std::int64_t size, std::int64_t num_bytes) {
  constexpr std::int64_t kLeast = 4096;
  return std::max({kLeast, num_bytes, std::min(2 * size, num_bytes + (std::int64_t{64} << 20))});
}

}  // namespace

Result<Stream> make_stream(int device) {
  cudaStream_t stream = nullptr;
  HS_CUDA(device, cudaStreamCreateWithFlags, &stream, cudaStreamNonBlocking);
  return Stream(stream);
}

Result<Event> make_event(int device) {
  cudaEvent_t event = nullptr;
  HS_CUDA(device, cudaEventCreateWithFlags, &event, cudaEventDisableTiming);
  return Event(event);
}

Status expect_free_memory(int device, std::int64_t num_bytes) {
  std::size_t free = 0;
  std::size_t total = 0;
  HS_CUDA(device, cudaMemGetInfo, &free, &total);
  if (num_bytes <= static_cast<std::int64_t>(free)) return Ok{};
  return Error{ErrorKind::not_available, "CUDA device " + std::to_string(device) + ": " +
                                             std::to_string(num_bytes) + " bytes are needed, " +
                                             std::to_string(free) + " of its " +
                                             std::to_string(total) + " are free"};
}

Status DeviceMemory::reserve(int device, std::int64_t num_bytes) {
  if (num_bytes <= size_) return Ok{};
  const std::int64_t size = size_ == 0 ? num_bytes : grown(size_, num_bytes);
  // Frees the old memory first, so that both need not fit.
  if (memory_ != nullptr) HS_CUDA(device, cudaDeviceSynchronize);
  memory_.reset();
  size_ = 0;
  if (Status status = expect_free_memory(device, size); !status) return status;
  void* memory = nullptr;
  HS_CUDA(device, cudaMalloc, &memory, static_cast<std::size_t>(size));
  memory_.reset(static_cast<std::byte*>(memory));
  size_ = size;
  ++num_allocations_;
  return Ok{};
}

Status PinnedMemory::reserve(int device, std::int64_t num_bytes) {
  if (num_bytes <= size_) return Ok{};
  const std::int64_t size = grown(size_, num_bytes);
  memory_.reset();
  size_ = 0;
  void* memory = nullptr;
  HS_CUDA(device, cudaMallocHost, &memory, static_cast<std::size_t>(size));
  memory_.reset(static_cast<std::byte*>(memory));
  size_ = size;
  ++num_allocations_;
  return Ok{};
}

Error cuda_error(cudaError_t code, const char* call, int device) {
  return {ErrorKind::device, "CUDA device " + std::to_string(device) + ": " + call + ": " +
                                 cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
}

Status cuda_status(cudaError_t code, const char* call, int device) {
  if (code == cudaSuccess) return Ok{};
  return cuda_error(code, call, device);
}

Status cuda_status(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return Ok{};
  int device = -1;
  static_cast<void>(cudaGetDevice(&device));
  return cuda_error(code, call.c_str(), device);
}

}  // namespace hybridscope
