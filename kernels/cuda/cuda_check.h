// Return codes of the CUDA runtime as errors. Not for other folders: it includes CUDA's headers.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/base/result.h"

namespace hybridscope {

// "CUDA device 0: cudaMemcpyAsync: an illegal memory access was encountered
// (cudaErrorIllegalAddress)", kind device.
Error cuda_error(cudaError_t code, const char* call, int device);

// Ok, or that error. `call` names what was called.
Status cuda_status(cudaError_t code, const char* call, int device);
// On the current device. `call` says more: "cudaMalloc of 4096 bytes".
Status cuda_status(cudaError_t code, const std::string& call);

}  // namespace hybridscope

// In a function that returns Status or Result: leaves it with the error of `function(...)`.
#define HS_CUDA(device, function, ...)                                             \
  do {                                                                             \
    if (const cudaError_t hs_code = function(__VA_ARGS__); hs_code != cudaSuccess) \
      return ::hybridscope::cuda_error(hs_code, #function, device);                \
  } while (false)
