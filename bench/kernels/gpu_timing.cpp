#include "bench/kernels/gpu_timing.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace hybridscope {
namespace {

constexpr int kRepetitions = 15;
constexpr int kWarmUps = 3;

double median_us(cudaStream_t stream, const std::function<void()>& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  must(cudaEventCreate(&begin), "cudaEventCreate");
  must(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int i = -kWarmUps; i < kRepetitions; ++i) {
    must(cudaEventRecord(begin, stream), "cudaEventRecord");
    work();
    must(cudaEventRecord(end, stream), "cudaEventRecord");
    must(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    must(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (i >= 0) times.push_back(milliseconds);
  }
  must(cudaEventDestroy(begin), "cudaEventDestroy");
  must(cudaEventDestroy(end), "cudaEventDestroy");
  std::ranges::sort(times);
  return 1000.0 * static_cast<double>(times[times.size() / 2]);
}

}  // namespace

void must(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(code));
  std::exit(4);
}

double graph_us(int num_nodes, const GpuWork& work) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "cudaStreamBeginCapture");
  for (int i = 0; i < num_nodes; ++i) work(stream);
  must(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  must(cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
  const double us =
      median_us(stream, [&] { must(cudaGraphLaunch(executable, stream), "cudaGraphLaunch"); });
  must(cudaGraphExecDestroy(executable), "cudaGraphExecDestroy");
  must(cudaGraphDestroy(graph), "cudaGraphDestroy");
  must(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return us / num_nodes;
}

PlainCopy time_plain_copy(std::int64_t bytes, int num_nodes) {
  const auto size = static_cast<std::size_t>(bytes);
  void* from = nullptr;
  void* to = nullptr;
  cudaStream_t stream = nullptr;
  must(cudaStreamCreate(&stream), "cudaStreamCreate");
  must(cudaMalloc(&from, size), "cudaMalloc");
  must(cudaMalloc(&to, size), "cudaMalloc");
  must(cudaMemset(from, 0x5A, size), "cudaMemset");
  const auto copy = [&](cudaStream_t on) {
    must(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, on), "cudaMemcpyAsync");
  };
  const PlainCopy times{.alone_us = median_us(stream, [&] { copy(stream); }),
                        .in_graph_us = graph_us(num_nodes, copy)};
  must(cudaFree(from), "cudaFree");
  must(cudaFree(to), "cudaFree");
  must(cudaStreamDestroy(stream), "cudaStreamDestroy");
  return times;
}

}  // namespace hybridscope
