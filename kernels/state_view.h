// One state of one layer in memory, as kernels see it: pointers and sizes only. Elements are
// unsigned numbers of 2 or 4 bytes, little endian; what they stand for does not matter here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/fingerprint.h"
#include "core/base/host_device.h"
#include "core/state/state_copy.h"

namespace hybridscope {

struct StateView {
  std::byte* data = nullptr;      // element [0, 0, ...] of block 0
  std::int64_t num_elements = 0;  // of one block
  StateGeometry geometry;
  std::int64_t dim = 0;              // conv: channels of a position
  std::int64_t position_stride = 0;  // conv: elements from a position to the next
  std::int64_t channel_stride = 0;   // conv: elements from a channel to the next

  HS_HOST_DEVICE std::byte* block(std::int32_t block) const {
    return data + block * geometry.block_stride;
  }
  // Conv: element of a block.
  HS_HOST_DEVICE constexpr std::int64_t element(std::int64_t position, std::int64_t channel) const {
    return position * position_stride + channel * channel_stride;
  }
};
static_assert(std::is_trivially_copyable_v<StateView>);

// States lie at multiples of their element size.
template <class T>
HS_HOST_DEVICE inline T load_as(const std::byte* from) {
#if defined(__CUDA_ARCH__)
  return *reinterpret_cast<const T*>(from);
#else
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
#endif
}

template <class T>
HS_HOST_DEVICE inline void store_as(std::byte* to, T value) {
#if defined(__CUDA_ARCH__)
  *reinterpret_cast<T*>(to) = value;
#else
  std::memcpy(to, &value, sizeof(T));
#endif
}

HS_HOST_DEVICE inline std::uint64_t load_element(const std::byte* state, std::int64_t i,
                                                 std::int32_t elem_size) {
  return elem_size == 2 ? load_as<std::uint16_t>(state + 2 * i)
                        : load_as<std::uint32_t>(state + 4 * i);
}

HS_HOST_DEVICE inline void store_element(std::byte* state, std::int64_t i, std::int32_t elem_size,
                                         std::uint64_t value) {
  if (elem_size == 2)
    store_as(state + 2 * i, static_cast<std::uint16_t>(value));
  else
    store_as(state + 4 * i, static_cast<std::uint32_t>(value));
}

// The fingerprint of a temporal state: its first 8 bytes (semantics: trace-element). Requires: a
// state of at least 8 bytes.
HS_HOST_DEVICE inline Fingerprint load_fingerprint(const std::byte* state, std::int32_t elem_size) {
  Fingerprint fingerprint = 0;
  for (std::int32_t i = 0; i * elem_size < 8; ++i)
    fingerprint |= load_element(state, i, elem_size) << (8 * elem_size * i);
  return fingerprint;
}

}  // namespace hybridscope
