// How a state is stored: float32, or bfloat16 that is float32 while a row runs.
#pragma once

#include <cuda_bf16.h>

#include <cstdint>

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

// kSize elements that are read and written at once.
template <class T, int kSize>
struct alignas(sizeof(T) * kSize) Pack {
  T values[kSize];
};

// Pools as kernels see them.
template <class T>
struct DevicePool {
  T* data = nullptr;  // [num_blocks, block_elements]
  std::int64_t block_elements = 0;

  __device__ T* block(std::int32_t id) const { return data + id * block_elements; }
};

inline DevicePool<float> device_pool(const StatePool& pool) {
  return {pool.data.data(), pool.block_elements};
}
inline DevicePool<Bf16> device_pool(const Bf16StatePool& pool) {
  return {reinterpret_cast<Bf16*>(pool.data.data()), pool.block_elements};
}

}  // namespace hybridscope::numeric_cuda
