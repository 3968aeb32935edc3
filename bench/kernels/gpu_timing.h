// Times of work on a GPU: medians over events, of CUDA graphs or of single calls.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

namespace hybridscope {

// A CUDA call of a bench; ends the program with a message if it fails.
void must(cudaError_t code, const char* call);

using GpuWork = std::function<void(cudaStream_t)>;

// Microseconds of one `work`: the median over 15 replays of a graph with `num_nodes` of them, which
// excludes the time between two launches of the host. 3 unmeasured replays come first.
double graph_us(int num_nodes, const GpuWork& work);

// Microseconds of one device-to-device cudaMemcpyAsync.
struct PlainCopy {
  double alone_us = 0;     // between two events, launch included; the median of 15
  double in_graph_us = 0;  // as graph_us; large ones take longer there
};
PlainCopy time_plain_copy(std::int64_t bytes, int num_nodes);

}  // namespace hybridscope
