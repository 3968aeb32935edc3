// The kernels that `conformance` recomputes vectors with: those of kernels/, as sessions/ takes
// them.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "sessions/conformance/vector_kernels.h"

namespace hybridscope {

// Copies on this machine; core decides. `device` is 0. Always Ok.
Result<VectorKernels> cpu_vector_kernels(std::int32_t device);

// Copy lists, fused launches, the gather and layer kernels on a CUDA device. Error: there is no
// such device, or this program was built without CUDA (not_available).
Result<VectorKernels> cuda_vector_kernels(std::int32_t device);

}  // namespace hybridscope
