// The pages of a CUDA backend as bytes, padding included. The program has no use for them: it asks
// for digests and for what differs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/cuda_backend_content.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/device_memory.h"

namespace hybridscope {

class DevicePages {
 public:
  // All of them wait for what was launched. Errors: the device's. Requires: a CudaStateBackend.
  static Result<std::vector<std::byte>> read(const StateBackend& backend, std::int32_t buffer,
                                             std::int32_t block);
  static Status write(const StateBackend& backend, std::int32_t buffer, std::int32_t block,
                      std::span<const std::byte> bytes);
  static Status wait(const StateBackend& backend);

 private:
  static const auto& content_of(const StateBackend& backend) {
    return *static_cast<const CudaStateBackend&>(backend).content_;
  }
  static std::byte* page(const StateBackend& backend, std::int32_t buffer, std::int32_t block);
};

inline std::byte* DevicePages::page(const StateBackend& backend, std::int32_t buffer,
                                    std::int32_t block) {
  const StateMemory& memory = backend.memory();
  HS_EXPECT(buffer >= 0 && buffer < memory.num_buffers);
  HS_EXPECT(block >= 0 && block < memory.num_blocks);
  return content_of(backend).pages.data() + buffer * memory.buffer_bytes() +
         block * memory.page_size_bytes;
}

inline Status DevicePages::wait(const StateBackend& backend) {
  const LaunchContext& context = content_of(backend).context;
  HS_CUDA(context.device, cudaSetDevice, context.device);
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

inline Result<std::vector<std::byte>> DevicePages::read(const StateBackend& backend,
                                                        std::int32_t buffer, std::int32_t block) {
  if (Status waited = wait(backend); !waited) return waited.error();
  std::vector<std::byte> bytes(static_cast<std::size_t>(backend.memory().page_size_bytes));
  HS_CUDA(content_of(backend).context.device, cudaMemcpy, bytes.data(),
          page(backend, buffer, block), bytes.size(), cudaMemcpyDeviceToHost);
  return bytes;
}

inline Status DevicePages::write(const StateBackend& backend, std::int32_t buffer,
                                 std::int32_t block, std::span<const std::byte> bytes) {
  if (Status waited = wait(backend); !waited) return waited;
  HS_EXPECT(static_cast<std::int64_t>(bytes.size()) == backend.memory().page_size_bytes);
  const LaunchContext& context = content_of(backend).context;
  HS_CUDA(context.device, cudaMemcpyAsync, page(backend, buffer, block), bytes.data(), bytes.size(),
          cudaMemcpyHostToDevice, context.stream);
  return wait(backend);
}

}  // namespace hybridscope
