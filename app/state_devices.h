// The devices that can keep state in bytes: those of kernels/, as the command line offers them.
#pragma once

#include <string>

#include "sessions/job/backends.h"

namespace hybridscope {

StateDevice cpu_state_device();
// Returns an error when used without a usable GPU, or in a build without CUDA.
StateDevice cuda_state_device();

// Both of them, and no window.
Backends state_backends();

// "CUDA 13.0, driver up to 13.0, device 0: NVIDIA H100 (compute 9.0, 79 GiB)", or why there is no
// device.
std::string describe_cuda_words();

}  // namespace hybridscope
