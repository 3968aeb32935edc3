#include "kernels/cuda/cuda_check.h"

namespace hybridscope {

Error cuda_error(cudaError_t code, const char* call, int device) {
  return {ErrorKind::device, "CUDA device " + std::to_string(device) + ": " + call + ": " +
                                 cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"};
}

Status cuda_status(cudaError_t code, const char* call, int device) {
  if (code == cudaSuccess) return Ok{};
  return cuda_error(code, call, device);
}

Status cuda_status(cudaError_t code, const std::string& call) {
  if (code == cudaSuccess) return Ok{};
  int device = -1;
  static_cast<void>(cudaGetDevice(&device));
  return cuda_error(code, call.c_str(), device);
}

}  // namespace hybridscope
