// OrderedSum by one thread, whose lanes are registers.
#pragma once

#include "kernels/numeric/warp_sums.cuh"

namespace hybridscope::numeric_cuda {

// Halves the lanes; `lanes` is lost.
__device__ inline float total_of_lanes(float (&lanes)[kWarp]) {
#pragma unroll
  for (int half = kWarp / 2; half > 0; half /= 2)
#pragma unroll
    for (int lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
  return lanes[0];
}

}  // namespace hybridscope::numeric_cuda
