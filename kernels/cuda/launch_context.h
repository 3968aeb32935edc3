// Where kernels are launched, and in which order their blocks of threads begin.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/cuda/launch_order.h"

namespace hybridscope {

struct LaunchContext {
  cudaStream_t stream = nullptr;
  int device = 0;
  LaunchOrder order;
};

}  // namespace hybridscope
