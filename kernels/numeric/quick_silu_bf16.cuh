// silu in float32 where the result is rounded to bfloat16: approximate instructions decide unless
// theirs lies near the middle between two bfloat16 numbers. A test compares all floats.
#pragma once

#include "kernels/numeric/quick_exp.h"

namespace hybridscope::numeric_cuda {

// Where the instructions are not sure.
__device__ __noinline__ inline float sure_silu(float x) { return quick_silu_f32(x); }

// Replaces each value by a float that rounds to the same bfloat16 number as its silu.
template <int kSize>
__device__ void quick_silu_for_bf16(float (&values)[kSize]) {
  // From -16 on the instructions are off by at most 17 last places of a float.
  constexpr unsigned int kUnsure = 32;
  float silu[kSize];
  bool is_sure[kSize];
  bool are_sure = true;
#pragma unroll
  for (int i = 0; i < kSize; ++i) {
    float power, inverse;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(values[i] * -0x1.715476p+0F));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0F + power));
    silu[i] = values[i] * inverse;
    const unsigned int below = __float_as_uint(silu[i]) & 0xFFFFU;
    is_sure[i] = values[i] > -16.0F && below - (0x8000U - kUnsure) > 2 * kUnsure;
    are_sure = are_sure && is_sure[i];
  }
  if (!are_sure) {
#pragma unroll
    for (int i = 0; i < kSize; ++i)
      if (!is_sure[i]) silu[i] = sure_silu(values[i]);
  }
#pragma unroll
  for (int i = 0; i < kSize; ++i) values[i] = silu[i];
}

}  // namespace hybridscope::numeric_cuda
