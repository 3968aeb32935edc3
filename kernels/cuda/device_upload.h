// Arrays on their way to a device: laid out one after the other, copied in one piece on a stream;
// what the launches of one step upload besides the states; and copies of host states. Not for other
// folders: it includes CUDA's headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/base/math.h"
#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "core/state/state_memory.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/launch_graph.h"
#include "kernels/memory_map.h"
#include "kernels/step_launches.h"

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

// What the launches of one step use besides the states themselves: operations, folded fingerprints,
// scratch for conflicting copies.

// Scratch for conflicting copies, which run as many lanes at a time as fit.
inline constexpr std::int64_t kCopyScratchBytes = std::int64_t{16} << 20;

class DeviceStep {
 public:
  // Makes room for steps of that size, with at most `most_meeting` conflicting copies in one
  // launch. Requires: no step is in progress. Error: the device's.
  Status reserve(const StepSize& size, std::int64_t most_meeting, const DeviceMap& map, int device);
  // Sends the step to the device; neither waits nor allocates if room was made and the device is
  // less than kPiecesUnderWay steps behind. The launches that follow never do.
  Status prepare(const StateOps& ops, const StepPlan& plan, const DeviceMap& map,
                 const LaunchContext& context);
  const StepArrays& arrays() const { return arrays_; }

  std::int64_t num_allocations() const;
  std::int64_t num_waits() const { return upload_.num_waits(); }

 private:
  Status reserve_results(std::int64_t num_writes, std::int64_t most_meeting, const DeviceMap& map,
                         int device);

  ArrayPiece piece_;
  DeviceUpload upload_;
  DeviceMemory folded_;
  DeviceMemory scratch_;
  StepArrays arrays_;
};

// Copies of host states on a device.

// States that overlap in host memory overlap on the device; others lie 256 bytes or more apart.
class DeviceStates {
 public:
  // Copies the bytes on the stream and waits for it. Errors: too little memory on the device, the
  // device's.
  static Result<DeviceStates> upload(HostStateBytes states, const LaunchContext& context);

  // [states] where element [0, 0, ...] of each lies on the device.
  std::span<std::byte* const> bases() const { return bases_; }
  // Copies the device's bytes to where they came from; waits for the stream.
  Status download(const LaunchContext& context) const;

 private:
  // A run of host bytes that states share, and where it lies on the device.
  struct Run {
    std::byte* begin = nullptr;
    std::byte* end = nullptr;
    std::int64_t offset = 0;
  };
  static std::vector<Run> runs_of(HostStateBytes states);
  std::byte* base_of(std::span<std::byte> state) const;
  Status copy_all(cudaMemcpyKind kind, const LaunchContext& context) const;

  std::vector<Run> runs_;  // ascending
  DeviceMemory memory_;
  std::vector<std::byte*> bases_;
};

}  // namespace hybridscope
