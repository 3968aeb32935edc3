// Device memory that its object owns.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "kernels/cuda/device_memory.h"

namespace hybridscope {

template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~DeviceBuffer() {
    if (data_ != nullptr) cudaFree(data_);  // an earlier call has reported any error
  }

  // On the current device; elements are not initialised.
  static Result<DeviceBuffer> create(std::size_t size) {
    DeviceBuffer buffer;
    if (size == 0) return Result<DeviceBuffer>(std::move(buffer));
    const std::size_t bytes = size * sizeof(T);
    if (Status status = cuda_status(cudaMalloc(&buffer.data_, bytes),
                                    "cudaMalloc of " + std::to_string(bytes) + " bytes");
        !status)
      return status.error();
    buffer.size_ = size;
    return Result<DeviceBuffer>(std::move(buffer));
  }
  // Holds `values`; waits until they are copied.
  static Result<DeviceBuffer> create(std::span<const T> values) {
    auto buffer = create(values.size());
    if (!buffer || values.empty()) return buffer;
    if (Status status = cuda_status(cudaMemcpy(buffer.value().data(), values.data(),
                                               values.size_bytes(), cudaMemcpyHostToDevice),
                                    "upload of " + std::to_string(values.size_bytes()) + " bytes");
        !status)
      return status.error();
    return buffer;
  }

  T* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hybridscope
