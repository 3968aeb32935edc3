#include "kernels/cuda/describe_cuda.h"

#include <algorithm>

#include "kernels/cuda/device_memory.h"

namespace hybridscope {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

Error not_available(std::string message) { return {ErrorKind::not_available, std::move(message)}; }

Error no_devices(cudaError_t code, int driver, int runtime) {
  if (driver == 0) return not_available("no CUDA device: no NVIDIA driver is installed");
  if (code == cudaErrorInsufficientDriver)
    return not_available("the NVIDIA driver runs CUDA up to " + version_text(driver) +
                         ", this program needs CUDA " + version_text(runtime) +
                         ": a newer driver is needed");
  if (code == cudaErrorNoDevice) return not_available("no CUDA device: the driver finds none");
  return not_available(std::string("no CUDA device: ") + cudaGetErrorString(code) + " (" +
                       cudaGetErrorName(code) + ")");
}

}  // namespace

Result<CudaDescription> describe_cuda() {
  int driver = 0;
  int runtime = 0;
  HS_CUDA(0, cudaDriverGetVersion, &driver);
  HS_CUDA(0, cudaRuntimeGetVersion, &runtime);
  int count = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code != cudaSuccess || count == 0)
    return no_devices(code == cudaSuccess ? cudaErrorNoDevice : code, driver, runtime);
  CudaDescription description{.driver_version = version_text(driver),
                              .runtime_version = version_text(runtime),
                              .devices = {}};
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    HS_CUDA(device, cudaGetDeviceProperties, &properties, device);
    description.devices.push_back(
        {.ordinal = device,
         .name = properties.name,
         .major = properties.major,
         .minor = properties.minor,
         .total_bytes = static_cast<std::int64_t>(properties.totalGlobalMem)});
  }
  return description;
}

Status expect_cuda_device(std::int32_t device) {
  const Result<CudaDescription> description = describe_cuda();
  if (!description) return description.error();
  const std::size_t count = description.value().devices.size();
  if (device >= 0 && static_cast<std::size_t>(device) < count) return Ok{};
  return not_available("there is no CUDA device " + std::to_string(device) + ", only 0 to " +
                       std::to_string(count - 1));
}

Result<std::int64_t> free_cuda_bytes(std::int32_t device) {
  if (Status there = expect_cuda_device(device); !there) return there.error();
  HS_CUDA(device, cudaSetDevice, device);
  std::size_t free = 0;
  std::size_t total = 0;
  HS_CUDA(device, cudaMemGetInfo, &free, &total);
  return std::max(static_cast<std::int64_t>(free) - kCudaBytesBesideStates, std::int64_t{0});
}

}  // namespace hybridscope
