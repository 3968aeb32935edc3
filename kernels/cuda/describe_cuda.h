// Which CUDA devices there are, or why there is none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace hybridscope {

struct CudaDevice {
  std::int32_t ordinal = 0;
  std::string name;
  std::int32_t major = 0;  // compute capability
  std::int32_t minor = 0;
  std::int64_t total_bytes = 0;
};

struct CudaDescription {
  std::string driver_version;   // the newest CUDA that the driver runs: "13.0"
  std::string runtime_version;  // the CUDA that this program was built with
  std::vector<CudaDevice> devices;
};

// Uses no memory of any device. Errors: not_available when this program was built without CUDA, no
// driver is installed, the driver is older than the runtime, or there is no device; device when a
// device does not answer.
Result<CudaDescription> describe_cuda();

// Ok where describe_cuda() lists the device. Errors: those of describe_cuda(), not_available for an
// ordinal that no device has.
Status expect_cuda_device(std::int32_t device);
// What a backend needs besides its states: operations, folded fingerprints, results.
inline constexpr std::int64_t kCudaBytesBesideStates = std::int64_t{64} << 20;
// Bytes that a device has left for states. Errors: those of expect_cuda_device, the device's.
Result<std::int64_t> free_cuda_bytes(std::int32_t device);

}  // namespace hybridscope
