#include "kernels/cuda/cuda_backend_content.h"

#include <utility>

#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/page_kernels.h"
#include "kernels/cuda/step_kernels.h"
#include "kernels/memory_map.h"

namespace hybridscope {
Status DeviceResults::reserve(int device, std::int64_t num_bytes) {
  if (Status status = device_.reserve(device, num_bytes); !status) return status;
  return host_.reserve(device, num_bytes);
}

Status DeviceResults::fetch(const std::byte* from, std::int64_t num_bytes,
                            const LaunchContext& context) {
  HS_CUDA(context.device, cudaMemcpyAsync, host_.data(), from, static_cast<std::size_t>(num_bytes),
          cudaMemcpyDeviceToHost, context.stream);
  return cuda_status(cudaStreamSynchronize(context.stream), "cudaStreamSynchronize",
                     context.device);
}

CudaStateBackend::Content::~Content() {
  static_cast<void>(cudaSetDevice(context.device));
  if (stream != nullptr) static_cast<void>(cudaStreamSynchronize(stream.get()));
}

Status CudaStateBackend::Content::select() const {
  HS_CUDA(context.device, cudaSetDevice, context.device);
  return Ok{};
}

Result<ContentArrays> CudaStateBackend::Content::send_contents(const BlockContents& contents) {
  expect_valid(map, contents);
  piece.clear();
  const auto blocks = piece.add(contents.blocks);
  const auto conv_fingerprints = piece.add(contents.conv_fingerprints);
  if (Status status = upload.send(piece, context); !status) return status.error();
  return ContentArrays{device_map.view, blocks.in(upload.data()),
                       conv_fingerprints.in(upload.data())};
}

StateDelays CudaStateBackend::Content::delays() const {
  return {.num_allocations = step.num_allocations(), .num_waits = step.num_waits()};
}

Status CudaStateBackend::Content::allocate(const StepSize& largest_step) {
  if (Status status = select(); !status) return status;
  Result<Stream> made = make_stream(context.device);
  if (!made) return made.error();
  stream = std::move(made).value();
  context.stream = stream.get();
  if (Status status = load_step_kernels(context.device); !status) return status;
  if (Status status =
          expect_free_memory(context.device, memory.total_bytes() + kCudaBytesBesideStates);
      !status)
    return status;
  if (Status status = pages.reserve(context.device, memory.total_bytes()); !status) return status;
  Result<MemoryMap> addresses = make_memory_map(memory, pages.data());
  if (!addresses) return addresses.error();
  map = std::move(addresses).value();
  planner = std::make_unique<StepPlanner>(map);
  if (Status status = send_map(map, context, device_map); !status) return status;
  if (Status status =
          step.reserve(largest_step, largest_step.num_copies, device_map, context.device);
      !status)
    return status;
  if (Status status = upload.reserve(context.device, kUploadBytes); !status) return status;
  at_creation = delays();
  if (Status status = launch_fill_poison(pages.data(), memory.total_bytes(), context); !status)
    return status;
  return cuda_status(cudaStreamSynchronize(context.stream), "cudaStreamSynchronize",
                     context.device);
}

}  // namespace hybridscope
