// The pages of a CUDA backend as bytes, padding included. The program has no use for them: it asks
// for digests and for what differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/cuda_state_backend.h"

namespace hybridscope {

class DevicePages {
 public:
  // All of them wait for what was launched. Errors: the device's.
  static Result<std::vector<std::byte>> read(const CudaStateBackend& backend, std::int32_t buffer,
                                             std::int32_t block);
  static Status write(const CudaStateBackend& backend, std::int32_t buffer, std::int32_t block,
                      std::span<const std::byte> bytes);
  static Status wait(const CudaStateBackend& backend);

 private:
  static std::byte* page(const CudaStateBackend& backend, std::int32_t buffer, std::int32_t block);
};

}  // namespace hybridscope
