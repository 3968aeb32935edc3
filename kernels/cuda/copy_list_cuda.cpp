#include "kernels/cuda/copy_list_cuda.h"

#include <vector>

#include "kernels/copy_list.h"
#include "kernels/cuda/copy_list_kernels.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/cuda/launch_graph.h"

namespace hybridscope {
namespace {

void expect_inside(const StateCopy& copy, HostStateBytes states) {
  HS_EXPECT(copy.state_index >= 0 && static_cast<std::size_t>(copy.state_index) < states.size());
  const auto size =
      static_cast<std::int64_t>(states[static_cast<std::size_t>(copy.state_index)].size());
  const std::int64_t span = (copy.num_rows - 1) * copy.row_stride_bytes + copy.row_bytes;
  HS_EXPECT(copy.src_byte_offset >= 0 && copy.src_byte_offset + span <= size);
  HS_EXPECT(copy.dst_byte_offset >= 0 && copy.dst_byte_offset + span <= size);
}

// The list's way to the device and its launches, recorded in a graph and launched from it.
Status launch_recorded(std::span<const ListedCopy> list, const LaunchContext& context) {
  ArrayPiece piece;
  const auto sent = piece.add(list);
  DeviceUpload upload;
  const auto num_bytes = static_cast<std::int64_t>(piece.bytes().size());
  if (Status status = upload.reserve(context.device, num_bytes); !status) return status;
  if (Status status = load_copy_kernels(context.device); !status) return status;
  const CopiesAre order = copies_meet(list) ? CopiesAre::in_order : CopiesAre::at_once;
  const auto graph = LaunchGraph::record(context, [&]() -> Status {
    if (Status status = upload.send(piece, context); !status) return status;
    return launch_copies(list, sent.in(upload.data()), order, context);
  });
  if (!graph) return graph.error();
  if (Status status = graph.value().launch(); !status) return status;
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

}  // namespace

Status execute_copies_cuda(std::span<const StateCopy> copies, HostStateBytes states,
                           std::int32_t device, const LaunchOrder& order) {
  if (Status status = expect_cuda_device(device); !status) return status.error();
  for (const StateCopy& copy : copies)
    if (copy.num_rows > 0 && copy.row_bytes > 0) expect_inside(copy, states);
  if (copies.empty()) return Ok{};
  HS_CUDA(device, cudaSetDevice, device);
  const Result<Stream> stream = make_stream(device);
  if (!stream) return stream.error();
  const LaunchContext context{.stream = stream.value().get(), .device = device, .order = order};
  const Result<DeviceStates> there = DeviceStates::upload(states, context);
  if (!there) return there.error();
  const std::vector<ListedCopy> list = list_copies(copies, there.value().bases());
  if (Status status = launch_recorded(list, context); !status) return status;
  return there.value().download(context);
}

}  // namespace hybridscope
