#include "kernels/cuda/copy_list_cuda.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "core/base/check.h"
#include "core/base/math.h"
#include "kernels/copy_list.h"
#include "kernels/cuda/copy_list_kernels.h"
#include "kernels/cuda/cuda_check.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_upload.h"

namespace hybridscope {
namespace {

// A run of host bytes that states share, and where it lies on the device.
struct Buffer {
  std::byte* begin = nullptr;
  std::byte* end = nullptr;
  std::int64_t offset = 0;
};

std::vector<Buffer> buffers_of(std::span<const std::span<std::byte>> states) {
  std::vector<std::span<std::byte>> sorted(states.begin(), states.end());
  std::ranges::sort(sorted, std::less<>{}, [](const auto& state) { return state.data(); });
  std::vector<Buffer> buffers;
  for (const std::span<std::byte> state : sorted) {
    std::byte* end = state.data() + state.size();
    if (buffers.empty() || state.data() >= buffers.back().end)
      buffers.push_back({.begin = state.data(), .end = end});
    else
      buffers.back().end = std::max(buffers.back().end, end, std::less<>{});
  }
  std::int64_t offset = 0;
  for (Buffer& buffer : buffers) {
    buffer.offset = offset;
    offset = round_up(offset + (buffer.end - buffer.begin), std::int64_t{256});
  }
  return buffers;
}

void expect_inside(const StateCopy& copy, std::span<const std::span<std::byte>> states) {
  HS_EXPECT(copy.state_index >= 0 && static_cast<std::size_t>(copy.state_index) < states.size());
  const auto size =
      static_cast<std::int64_t>(states[static_cast<std::size_t>(copy.state_index)].size());
  const std::int64_t span = (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
  HS_EXPECT(copy.src_byte_offset >= 0 && copy.src_byte_offset + span <= size);
  HS_EXPECT(copy.dst_byte_offset >= 0 && copy.dst_byte_offset + span <= size);
}

Status move_all(std::span<const Buffer> buffers, std::byte* memory, cudaMemcpyKind kind,
                const LaunchContext& context) {
  for (const Buffer& buffer : buffers) {
    const auto size = static_cast<std::size_t>(buffer.end - buffer.begin);
    std::byte* there = memory + buffer.offset;
    if (kind == cudaMemcpyHostToDevice)
      HS_CUDA(context.device, cudaMemcpyAsync, there, buffer.begin, size, kind, context.stream);
    else
      HS_CUDA(context.device, cudaMemcpyAsync, buffer.begin, there, size, kind, context.stream);
  }
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

}  // namespace

Status execute_copies_cuda(std::span<const StateCopy> copies,
                           std::span<const std::span<std::byte>> states, std::int32_t device,
                           const LaunchOrder& order) {
  if (Status status = expect_cuda_device(device); !status) return status.error();
  for (const StateCopy& copy : copies)
    if (copy.num_rows > 0 && copy.row_bytes > 0) expect_inside(copy, states);
  HS_CUDA(device, cudaSetDevice, device);
  const std::vector<Buffer> buffers = buffers_of(states);
  if (copies.empty() || buffers.empty()) return Ok{};
  DeviceMemory memory;
  const std::int64_t size = buffers.back().offset + (buffers.back().end - buffers.back().begin);
  if (Status status = memory.reserve(device, size); !status) return status;
  const Result<Stream> stream = make_stream(device);
  if (!stream) return stream.error();
  const LaunchContext context{.stream = stream.value().get(), .device = device, .order = order};
  if (Status status = move_all(buffers, memory.data(), cudaMemcpyHostToDevice, context); !status)
    return status;
  std::vector<std::byte*> bases;
  for (const std::span<std::byte> state : states) {
    const auto buffer = std::ranges::find_if(buffers, [&](const Buffer& candidate) {
      return !std::less<>{}(state.data(), candidate.begin) &&
             std::less<>{}(state.data(), candidate.end);
    });
    bases.push_back(buffer == buffers.end()
                        ? memory.data()
                        : memory.data() + buffer->offset + (state.data() - buffer->begin));
  }
  const std::vector<ListedCopy> list = list_copies(copies, bases);
  ArrayPiece piece;
  const auto sent = piece.add(list);
  DeviceUpload upload;
  if (Status status = upload.send(piece, context); !status) return status;
  const CopiesAre in_which_order = copies_meet(list) ? CopiesAre::in_order : CopiesAre::at_once;
  if (Status status = launch_copies(list, sent.in(upload.data()), in_which_order, context); !status)
    return status;
  return move_all(buffers, memory.data(), cudaMemcpyDeviceToHost, context);
}

}  // namespace hybridscope
