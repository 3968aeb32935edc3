// A step of the CUDA backend recorded in a graph.
#include <type_traits>
#include <utility>

#include "kernels/cuda/cuda_backend_content.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/cuda_state_backend.h"
#include "kernels/cuda/step_kernels.h"
#include "kernels/expect_valid.h"

namespace hybridscope {
namespace {

struct DestroyGraph {
  void operator()(cudaGraph_t graph) const { static_cast<void>(cudaGraphDestroy(graph)); }
};
struct DestroyGraphExec {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};

}  // namespace

struct CudaStepGraph::Content {
  ~Content() {
    static_cast<void>(cudaSetDevice(context.device));
    static_cast<void>(cudaStreamSynchronize(context.stream));
  }
  LaunchContext context;
  DeviceStep step;  // what the recorded kernels read
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraphExec> exec;
};

CudaStepGraph::CudaStepGraph(std::unique_ptr<Content> content) : content_(std::move(content)) {}
CudaStepGraph::CudaStepGraph(CudaStepGraph&&) noexcept = default;
CudaStepGraph& CudaStepGraph::operator=(CudaStepGraph&&) noexcept = default;
CudaStepGraph::~CudaStepGraph() = default;

Status CudaStepGraph::launch() {
  HS_CUDA(content_->context.device, cudaSetDevice, content_->context.device);
  HS_CUDA(content_->context.device, cudaGraphLaunch, content_->exec.get(),
          content_->context.stream);
  return Ok{};
}

Result<CudaStepGraph> CudaStateBackend::capture(const StateOps& ops) {
  Content& content = *content_;
  expect_valid(content.map, ops);
  if (Status status = content.select(); !status) return status.error();
  const StepPlan plan = content.planner->plan(ops);
  auto graph = std::make_unique<CudaStepGraph::Content>();
  graph->context = content.context;
  const int device = content.context.device;
  if (Status status =
          graph->step.reserve(size_of(ops), plan.most_meeting, content.device_map, device);
      !status)
    return status.error();
  // From here on CUDA refuses every call that waits or allocates.
  HS_CUDA(device, cudaStreamBeginCapture, content.context.stream, cudaStreamCaptureModeThreadLocal);
  Status launched = graph->step.prepare(ops, plan, content.device_map, content.context);
  if (launched) launched = launch_step(plan, graph->step.arrays(), content.context);
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(content.context.stream, &recorded);
  const std::unique_ptr<std::remove_pointer_t<cudaGraph_t>, DestroyGraph> owner(recorded);
  if (!launched) return launched.error();
  if (ended != cudaSuccess) return cuda_error(ended, "cudaStreamEndCapture", device);
  cudaGraphExec_t exec = nullptr;
  HS_CUDA(device, cudaGraphInstantiate, &exec, recorded, 0);
  graph->exec.reset(exec);
  return CudaStepGraph(std::move(graph));
}

}  // namespace hybridscope
