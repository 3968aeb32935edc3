// Arrays on their way to a device: laid out one behind the other, copied in one piece on a stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/math.h"
#include "core/base/result.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_context.h"

namespace hybridscope {

// Begin of an array in the piece.
template <class T>
struct Uploaded {
  std::int64_t offset = 0;
  const T* in(const std::byte* piece) const { return reinterpret_cast<const T*>(piece + offset); }
};

class ArrayPiece {
 public:
  template <class T>
  Uploaded<T> add(std::span<const T> values) {
    const auto offset = round_up(static_cast<std::int64_t>(bytes_.size()), std::int64_t{16});
    bytes_.resize(static_cast<std::size_t>(offset) + values.size_bytes());
    if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
    return {offset};
  }
  template <class T>
  Uploaded<T> add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }
  void clear() { bytes_.clear(); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class DeviceUpload {
 public:
  // Waits until the piece before has left the host, then copies this one without waiting. What was
  // launched before on the stream still sees the piece before.
  Status send(const ArrayPiece& piece, const LaunchContext& context);
  const std::byte* data() const { return device_.data(); }

 private:
  PinnedMemory pinned_;
  DeviceMemory device_;
  Event sent_;
};

}  // namespace hybridscope
