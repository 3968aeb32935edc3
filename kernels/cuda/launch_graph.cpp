#include "kernels/cuda/launch_graph.h"

#include "kernels/cuda/device_memory.h"

namespace hybridscope {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};

}  // namespace

Result<LaunchGraph> LaunchGraph::record(const LaunchContext& context,
                                        const std::function<Status()>& launches) {
  LaunchGraph result(context);
  HS_CUDA(context.device, cudaStreamBeginCapture, context.stream, cudaStreamCaptureModeThreadLocal);
  const Status launched = launches();
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(context.stream, &recorded);
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph> owner(recorded);
  if (!launched) return launched.error();
  if (ended != cudaSuccess) return cuda_error(ended, "cudaStreamEndCapture", context.device);
  cudaGraphExec_t exec = nullptr;
  HS_CUDA(context.device, cudaGraphInstantiate, &exec, recorded, 0);
  result.exec_.reset(exec);
  return Result<LaunchGraph>(std::move(result));
}

Status LaunchGraph::launch() const {
  HS_CUDA(context_.device, cudaGraphLaunch, exec_.get(), context_.stream);
  return Ok{};
}

}  // namespace hybridscope
