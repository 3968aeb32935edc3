#include "tests/kernels/cuda/device_pages.h"

#include "core/base/check.h"
#include "kernels/cuda/cuda_backend_content.h"
#include "kernels/cuda/cuda_check.h"

namespace hybridscope {

std::byte* DevicePages::page(const CudaStateBackend& backend, std::int32_t buffer,
                             std::int32_t block) {
  const StateMemory& memory = backend.memory();
  HS_EXPECT(buffer >= 0 && buffer < memory.num_buffers);
  HS_EXPECT(block >= 0 && block < memory.num_blocks);
  return backend.content_->pages.data() + buffer * memory.buffer_bytes() +
         block * memory.page_size_bytes;
}

Status DevicePages::wait(const CudaStateBackend& backend) {
  const LaunchContext& context = backend.content_->context;
  HS_CUDA(context.device, cudaSetDevice, context.device);
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

Result<std::vector<std::byte>> DevicePages::read(const CudaStateBackend& backend,
                                                 std::int32_t buffer, std::int32_t block) {
  if (Status waited = wait(backend); !waited) return waited.error();
  std::vector<std::byte> bytes(static_cast<std::size_t>(backend.memory().page_size_bytes));
  HS_CUDA(backend.content_->context.device, cudaMemcpy, bytes.data(), page(backend, buffer, block),
          bytes.size(), cudaMemcpyDeviceToHost);
  return bytes;
}

Status DevicePages::write(const CudaStateBackend& backend, std::int32_t buffer, std::int32_t block,
                          std::span<const std::byte> bytes) {
  if (Status waited = wait(backend); !waited) return waited;
  HS_EXPECT(static_cast<std::int64_t>(bytes.size()) == backend.memory().page_size_bytes);
  const LaunchContext& context = backend.content_->context;
  HS_CUDA(context.device, cudaMemcpyAsync, page(backend, buffer, block), bytes.data(), bytes.size(),
          cudaMemcpyHostToDevice, context.stream);
  return wait(backend);
}

}  // namespace hybridscope
