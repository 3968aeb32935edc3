// How a state is stored: float32, or bfloat16 that is float32 while a row runs.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>
#include <type_traits>

#include "core/numeric/state_rows.h"
#include "kernels/numeric/bf16_pool.h"

namespace hybridscope::numeric_cuda {

using Bf16 = __nv_bfloat16;

__device__ inline float to_float(float value) { return value; }
__device__ inline float to_float(Bf16 value) { return __bfloat162float(value); }

template <class T>
__device__ T from_float(float value);
template <>
__device__ inline float from_float<float>(float value) {
  return value;
}
template <>
__device__ inline Bf16 from_float<Bf16>(float value) {
  return __float2bfloat16_rn(value);
}

// kSize elements that are read and written at once; those of bfloat16 stay in pairs, as they are
// converted.
template <class T, int kSize>
struct alignas(sizeof(T) * kSize) Pack {
  T values[kSize];
};
template <int kSize>
requires(kSize % 2 == 0) struct alignas(sizeof(Bf16) * kSize) Pack<Bf16, kSize> {
  std::uint32_t pairs[kSize / 2];  // the first element in the lower half
};

template <class T, int kSize>
__device__ void unpack(const Pack<T, kSize>& pack, float (&values)[kSize]) {
  if constexpr (std::is_same_v<T, Bf16> && kSize % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kSize; i += 2) {
      values[i] = __uint_as_float(pack.pairs[i / 2] << 16);
      values[i + 1] = __uint_as_float(pack.pairs[i / 2] & 0xFFFF0000U);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) values[i] = to_float(pack.values[i]);
  }
}

template <class T, int kSize>
__device__ Pack<T, kSize> packed(const float (&values)[kSize]) {
  Pack<T, kSize> pack;
  if constexpr (std::is_same_v<T, Bf16> && kSize % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kSize; i += 2)
      asm("cvt.rn.bf16x2.f32 %0, %1, %2;"
          : "=r"(pack.pairs[i / 2])
          : "f"(values[i + 1]), "f"(values[i]));
  } else {
#pragma unroll
    for (int i = 0; i < kSize; ++i) pack.values[i] = from_float<T>(values[i]);
  }
  return pack;
}

// Pools as kernels see them.
template <class T>
struct DevicePool {
  T* data = nullptr;
  std::int64_t block_elements = 0;  // from a block to the next

  __device__ T* block(std::int32_t id) const { return data + id * block_elements; }
};

inline DevicePool<float> device_pool(const StatePool& pool) {
  return {pool.data.data(), pool.stride == 0 ? pool.block_elements : pool.stride};
}
inline DevicePool<Bf16> device_pool(const Bf16StatePool& pool) {
  return {reinterpret_cast<Bf16*>(pool.data.data()), pool.block_elements};
}

}  // namespace hybridscope::numeric_cuda
