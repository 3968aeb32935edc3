// A short kernel is launched while the one before it on its stream still runs, and waits for it by
// itself (programmatic dependent launch of sm_90): launching costs as much as a few microseconds of
// its work. The order of a stream stays as it is.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace hybridscope {

// A kernel that is launched early calls it before it reads what others write, or writes.
__device__ inline void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

struct LaunchShape {
  dim3 grid;
  unsigned int threads = 0;
  std::size_t dynamic_bytes = 0;  // of shared memory
};

template <class... Parameters>
cudaError_t launch_early(void (*kernel)(Parameters...), const LaunchShape& shape,
                         cudaStream_t stream, const Parameters&... arguments) {
  int device = 0;
  int major = 0;
  if (const cudaError_t error = cudaGetDevice(&device); error != cudaSuccess) return error;
  if (const cudaError_t error =
          cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
      error != cudaSuccess)
    return error;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = dim3(shape.threads);
  config.dynamicSmemBytes = shape.dynamic_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = major >= 9 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace hybridscope
