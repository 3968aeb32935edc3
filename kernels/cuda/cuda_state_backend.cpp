#include "kernels/cuda/cuda_state_backend.h"

#include <utility>

#include "kernels/cuda/cuda_backend_content.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/step_kernels.h"
#include "kernels/expect_valid.h"

namespace hybridscope {

Result<std::unique_ptr<CudaStateBackend>> CudaStateBackend::create(CudaBackendOptions options) {
  if (Status status = expect_cuda_device(options.device); !status) return status.error();
  auto content = std::make_unique<Content>();
  content->memory = std::move(options.memory);
  content->context.device = options.device;
  content->context.order = options.launch_order;
  if (Status status = content->allocate(options.largest_step); !status) return status.error();
  return std::unique_ptr<CudaStateBackend>(new CudaStateBackend(std::move(content)));
}

CudaStateBackend::CudaStateBackend(std::unique_ptr<Content> content)
    : content_(std::move(content)) {}
CudaStateBackend::~CudaStateBackend() = default;

const StateMemory& CudaStateBackend::memory() const { return content_->memory; }

StateDelays CudaStateBackend::delays() const {
  const StateDelays& before = content_->at_creation;
  const StateDelays now = content_->delays();
  return {.num_allocations = now.num_allocations - before.num_allocations,
          .num_waits = now.num_waits - before.num_waits};
}

Status CudaStateBackend::run(const StateOps& ops) {
  Content& content = *content_;
  expect_valid(content.map, ops);
  if (Status status = content.select(); !status) return status;
  const StepPlan plan = content.planner->plan(ops);
  if (Status status = content.step.prepare(ops, plan, content.device_map, content.context); !status)
    return status;
  return launch_step(plan, content.step.arrays(), content.context);
}

}  // namespace hybridscope
