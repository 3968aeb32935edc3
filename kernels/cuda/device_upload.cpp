#include "kernels/cuda/device_upload.h"

#include <utility>

#include "kernels/cuda/cuda_check.h"

namespace hybridscope {

Status DeviceUpload::send(const ArrayPiece& piece, const LaunchContext& context) {
  const int device = context.device;
  const std::span<const std::byte> bytes = piece.bytes();
  if (sent_ == nullptr) {
    Result<Event> event = make_event(device);
    if (!event) return event.error();
    sent_ = std::move(event).value();
  } else {
    HS_CUDA(device, cudaEventSynchronize, sent_.get());
  }
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (Status status = pinned_.reserve(device, size); !status) return status;
  if (Status status = device_.reserve(device, size); !status) return status;
  if (bytes.empty()) return Ok{};
  std::memcpy(pinned_.data(), bytes.data(), bytes.size());
  HS_CUDA(device, cudaMemcpyAsync, device_.data(), pinned_.data(), bytes.size(),
          cudaMemcpyHostToDevice, context.stream);
  HS_CUDA(device, cudaEventRecord, sent_.get(), context.stream);
  return Ok{};
}

}  // namespace hybridscope
