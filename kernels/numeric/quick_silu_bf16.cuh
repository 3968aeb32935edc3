// silu in float32, rounded to bfloat16 once: approximate instructions decide unless their result
// lies near the middle between two bfloat16 numbers. A test compares all floats.
#pragma once

#include <cuda_bf16.h>

#include "kernels/numeric/quick_exp.h"

namespace hybridscope::numeric_cuda {

__device__ inline __nv_bfloat16 quick_silu_bf16(float x) {
  // From -16 on the instructions are within 2^-19, half of this in last places of a float. Above 0
  // what they are off by vanishes beside 1.
  constexpr unsigned int kUnsure = 64;
  float power, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -0x1.715476p+0F));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0F + power));
  const float silu = x * inverse;
  const unsigned int below = __float_as_uint(silu) & 0xFFFFU;
  const bool is_sure = x > -16.0F && below - (0x8000U - kUnsure) > 2 * kUnsure;
  return __float2bfloat16_rn(is_sure ? silu : quick_silu_f32(x));
}

}  // namespace hybridscope::numeric_cuda
