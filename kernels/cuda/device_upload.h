// Arrays on their way to a device: laid out one after the other, copied in one piece on a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/math.h"
#include "core/base/result.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_context.h"
#include "kernels/memory_map.h"

namespace hybridscope {

// Start of an array in the piece.
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

// Pieces that may be in flight at once. A piece leaves the host when the stream gets to it, so this
// is how many steps the host may be ahead of the device without waiting.
inline constexpr std::size_t kPiecesUnderWay = 4;

class DeviceUpload {
 public:
  // Makes room for pieces of `num_bytes`, so that sending them allocates nothing. Requires: none is
  // in flight. Error: the device's.
  Status reserve(int device, std::int64_t num_bytes);
  // Copies the piece on the stream. What was launched before on the stream still sees the previous
  // piece. Waits only if kPiecesUnderWay pieces are already in flight, allocates only if the piece
  // is larger than the room; both are counted. Can be captured in a graph as the object's first
  // piece, after reserve(): a replay sends the same bytes again.
  Status send(const ArrayPiece& piece, const LaunchContext& context);
  const std::byte* data() const { return device_.data(); }

  std::int64_t num_allocations() const;  // of either memory
  std::int64_t num_waits() const { return num_waits_; }

 private:
  struct Staging {
    PinnedMemory memory;
    Event sent;             // its last piece has left the host
    bool recorded = false;  // a piece was sent
  };
  Status make_room(Staging& staging, int device, std::int64_t num_bytes);
  Status wait_until_sent(const Staging& staging, int device);

  std::array<Staging, kPiecesUnderWay> stagings_;  // used in turn
  std::size_t next_ = 0;
  DeviceMemory device_;
  std::int64_t num_waits_ = 0;
};

// The map of the states, sent to a device once.

struct DeviceMap {
  DeviceUpload upload;
  MemoryView view;  // device addresses
  StateRange widest_group;
};

// `map` was made with the device's base address.
Status send_map(const MemoryMap& map, const LaunchContext& context, DeviceMap& device_map);

}  // namespace hybridscope
