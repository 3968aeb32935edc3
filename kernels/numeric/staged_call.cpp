#include "kernels/numeric/staged_call.h"

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/launch_graph.h"

namespace hybridscope {

StagedCall::StagedCall(std::int32_t device) : device_(device) {
  Status status = expect_cuda_device(device);
  if (status) status = cuda_status(cudaSetDevice(device), "cudaSetDevice", device);
  if (!status) error_ = status.error();
}

std::byte* StagedCall::reserve(std::size_t num_bytes) {
  if (error_ || num_bytes == 0) return nullptr;
  void* memory = nullptr;
  if (const cudaError_t code = cudaMalloc(&memory, num_bytes); code != cudaSuccess) {
    error_ = cuda_error(code, "cudaMalloc", device_);
    return nullptr;
  }
  memory_.emplace_back(static_cast<std::byte*>(memory));
  return memory_.back().get();
}

std::byte* StagedCall::upload(std::span<const std::byte> host, std::byte* back) {
  std::byte* memory = reserve(host.size());
  if (memory == nullptr) return nullptr;
  const cudaError_t code = cudaMemcpy(memory, host.data(), host.size(), cudaMemcpyHostToDevice);
  if (code != cudaSuccess) {
    error_ = cuda_error(code, "cudaMemcpy", device_);
    return nullptr;
  }
  if (back != nullptr) downloads_.push_back({{memory, host.size()}, back});
  return memory;
}

Status StagedCall::launch_recorded(const std::function<Status(CUstream_st*)>& launch) {
  const auto stream = make_stream(device_);
  if (!stream) return stream.error();
  const LaunchContext context{.stream = stream.value().get(), .device = device_, .order = {}};
  HS_CUDA(device_, cudaDeviceSynchronize);  // uploads were on no stream of ours
  const auto graph = LaunchGraph::record(context, [&] { return launch(context.stream); });
  if (!graph) return graph.error();
  if (Status status = graph.value().launch(); !status) return status;
  HS_CUDA(device_, cudaStreamSynchronize, context.stream);
  return Ok{};
}

Status StagedCall::run(const std::function<Status(CUstream_st*)>& launch) {
  if (error_) return *error_;
  if (Status status = launch_recorded(launch); !status) return status;
  for (const Download& download : downloads_)
    HS_CUDA(device_, cudaMemcpy, download.host, download.device.data(), download.device.size(),
            cudaMemcpyDeviceToHost);
  return Ok{};
}

}  // namespace hybridscope
