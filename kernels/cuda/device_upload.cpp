#include "kernels/cuda/device_upload.h"

#include <utility>

#include "kernels/cuda/cuda_check.h"

namespace hybridscope {

Status DeviceUpload::reserve(int device, std::int64_t num_bytes) {
  for (Staging& staging : stagings_)
    if (Status status = make_room(staging, device, num_bytes); !status) return status;
  return device_.reserve(device, num_bytes);
}

Status DeviceUpload::make_room(Staging& staging, int device, std::int64_t num_bytes) {
  if (staging.sent == nullptr) {
    Result<Event> event = make_event(device);
    if (!event) return event.error();
    staging.sent = std::move(event).value();
  }
  return staging.memory.reserve(device, num_bytes);
}

Status DeviceUpload::wait_until_sent(const Staging& staging, int device) {
  if (!staging.recorded) return Ok{};
  const cudaError_t code = cudaEventQuery(staging.sent.get());
  if (code != cudaErrorNotReady) return cuda_status(code, "cudaEventQuery", device);
  static_cast<void>(cudaGetLastError());  // later calls must not report cudaErrorNotReady
  ++num_waits_;
  HS_CUDA(device, cudaEventSynchronize, staging.sent.get());
  return Ok{};
}

Status DeviceUpload::send(const ArrayPiece& piece, const LaunchContext& context) {
  const int device = context.device;
  const std::span<const std::byte> bytes = piece.bytes();
  if (bytes.empty()) return Ok{};
  const auto size = static_cast<std::int64_t>(bytes.size());
  Staging& staging = stagings_[next_];
  next_ = (next_ + 1) % stagings_.size();
  if (Status status = wait_until_sent(staging, device); !status) return status;
  if (Status status = make_room(staging, device, size); !status) return status;
  if (Status status = device_.reserve(device, size); !status) return status;
  std::memcpy(staging.memory.data(), bytes.data(), bytes.size());
  HS_CUDA(device, cudaMemcpyAsync, device_.data(), staging.memory.data(), bytes.size(),
          cudaMemcpyHostToDevice, context.stream);
  HS_CUDA(device, cudaEventRecord, staging.sent.get(), context.stream);
  staging.recorded = true;
  return Ok{};
}

std::int64_t DeviceUpload::num_allocations() const {
  std::int64_t count = device_.num_allocations();
  for (const Staging& staging : stagings_) count += staging.memory.num_allocations();
  return count;
}

Status send_map(const MemoryMap& map, const LaunchContext& context, DeviceMap& device_map) {
  ArrayPiece piece;
  const auto states = piece.add(map.states);
  const auto group_states = piece.add(map.group_states);
  const auto temporal_kinds = piece.add(map.temporal_kinds);
  const auto conv_kinds = piece.add(map.conv_kinds);
  if (Status status = device_map.upload.send(piece, context); !status) return status;
  const std::byte* data = device_map.upload.data();
  device_map.view = view_of(map);
  device_map.view.states = states.in(data);
  device_map.view.group_states = group_states.in(data);
  device_map.view.temporal_kinds = temporal_kinds.in(data);
  device_map.view.conv_kinds = conv_kinds.in(data);
  device_map.widest_group = map.widest_group;
  return Ok{};
}

}  // namespace hybridscope
