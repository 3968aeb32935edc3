#include "kernels/cuda/cuda_state_backend.h"

#include <utility>

#include "core/base/check.h"
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
  if (Status status = content->allocate(options.largest_step); !status) return status.error();
  return std::unique_ptr<CudaStateBackend>(new CudaStateBackend(std::move(content)));
}

CudaStateBackend::CudaStateBackend(std::unique_ptr<Content> content)
    : content_(std::move(content)) {}
CudaStateBackend::~CudaStateBackend() = default;

const StateMemory& CudaStateBackend::memory() const { return content_->memory; }
void CudaStateBackend::set_launch_order(LaunchOrder order) { content_->context.order = order; }

CudaDelays CudaStateBackend::delays() const {
  const CudaDelays& before = content_->at_creation;
  const CudaDelays now = content_->delays();
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

Status CudaStateBackend::synchronize() {
  if (Status status = content_->select(); !status) return status;
  return cuda_status(cudaStreamSynchronize(content_->context.stream), "cudaStreamSynchronize",
                     content_->context.device);
}

Status CudaStateBackend::write_page(std::int32_t buffer, std::int32_t block,
                                    std::span<const std::byte> bytes) {
  Content& content = *content_;
  HS_EXPECT(static_cast<std::int64_t>(bytes.size()) == content.memory.page_size_bytes);
  std::byte* page = content.page(buffer, block);
  if (Status status = content.select(); !status) return status;
  HS_CUDA(content.context.device, cudaMemcpyAsync, page, bytes.data(), bytes.size(),
          cudaMemcpyHostToDevice, content.context.stream);
  return synchronize();
}

}  // namespace hybridscope
