// Where state can be kept in bytes: what kernels/ offers, as the command line takes it.
#pragma once

#include <string>

#include "cli/backends.h"

namespace hybridscope {

StateDevice cpu_state_device();
// Answers with an error where there is no usable GPU, or no CUDA in this build.
StateDevice cuda_state_device();

// "CUDA 13.0, driver up to 13.0, device 0: NVIDIA H100 (compute 9.0, 79 GiB)", or why there is no
// device.
std::string describe_cuda_words();

}  // namespace hybridscope
