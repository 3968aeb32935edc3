#include "kernels/cuda/block_table_gather_cuda.h"

#include "kernels/copy_bodies.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/cuda/lane_kernel.cuh"

namespace hybridscope {
namespace {

Status gather(const BlockTableGatherInput& input, const BlockTableWindow& window,
              const LaunchContext& context, std::vector<std::int32_t>& gathered) {
  ArrayPiece piece;
  const auto table = piece.add(
      std::span(input.block_table.data, static_cast<std::size_t>(input.block_table.size())));
  const auto seq_lens = piece.add(input.seq_lens);
  DeviceUpload upload;
  if (Status status = upload.send(piece, context); !status) return status;
  DeviceMemory result;
  const std::size_t num_bytes = gathered.size() * sizeof(std::int32_t);
  if (Status status = result.reserve(context.device, static_cast<std::int64_t>(num_bytes)); !status)
    return status;
  const GatherBody body{.block_table = table.in(upload.data()),
                        .seq_lens = seq_lens.in(upload.data()),
                        .stride = window.stride,
                        .block_size = input.config.block_size,
                        .width = window.width,
                        .gathered = reinterpret_cast<std::int32_t*>(result.data())};
  if (Status status = launch_lanes(body, window.rows, context); !status) return status;
  HS_CUDA(context.device, cudaMemcpyAsync, gathered.data(), result.data(), num_bytes,
          cudaMemcpyDeviceToHost, context.stream);
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

}  // namespace

Result<std::vector<std::int32_t>> gather_block_table_cuda(const BlockTableGatherInput& input,
                                                          std::int32_t device,
                                                          const LaunchOrder& order) {
  std::vector<std::int32_t> starts(input.seq_lens.size());
  const Result<BlockTableWindow> window = find_block_table_window(input, starts);
  if (!window) return window.error();
  const BlockTableWindow& found = window.value();
  std::vector<std::int32_t> gathered(static_cast<std::size_t>(found.rows) *
                                     static_cast<std::size_t>(found.width));
  if (input.config.mamba_cache_mode != MambaCacheMode::align) {
    std::copy_n(input.block_table.data, gathered.size(), gathered.begin());
    return gathered;
  }
  if (gathered.empty()) return gathered;
  if (Status status = expect_cuda_device(device); !status) return status.error();
  HS_CUDA(device, cudaSetDevice, device);
  const Result<Stream> stream = make_stream(device);
  if (!stream) return stream.error();
  const LaunchContext context{.stream = stream.value().get(), .device = device, .order = order};
  if (Status status = gather(input, found, context, gathered); !status) return status.error();
  return gathered;
}

}  // namespace hybridscope
