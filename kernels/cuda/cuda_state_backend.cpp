#include "kernels/cuda/cuda_state_backend.h"

#include <utility>

#include "core/base/result.h"
#include "kernels/cuda/cuda_backend_content.h"
#include "kernels/cuda/describe_cuda.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/step_kernels.h"
#include "kernels/memory_map.h"

namespace hybridscope {

Result<std::unique_ptr<StateBackend>> CudaStateBackend::create(CudaBackendOptions options) {
  if (Status status = expect_cuda_device(options.device); !status) return status.error();
  auto content = std::make_unique<Content>();
  content->memory = std::move(options.memory);
  content->context.device = options.device;
  content->context.order = options.launch_order;
  if (Status status = content->allocate(options.largest_step); !status) return status.error();
  return std::unique_ptr<StateBackend>(new CudaStateBackend(std::move(content)));
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

Result<std::vector<StateMismatch>> CudaStateBackend::verify(const BlockContents& contents) {
  Content& content = *content_;
  if (Status status = content.select(); !status) return status.error();
  const auto count = static_cast<std::int32_t>(contents.blocks.size());
  const std::int64_t num_items = std::int64_t{count} * content.device_map.view.most_states;
  if (num_items == 0) return std::vector<StateMismatch>{};
  constexpr std::int64_t kArrays = 3;
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::uint64_t));
  const int device = content.context.device;
  if (Status status = content.results.reserve(device, kArrays * kWord * num_items); !status)
    return status.error();
  const Result<ContentArrays> arrays = content.send_contents(contents);
  if (!arrays) return arrays.error();
  auto* words = reinterpret_cast<std::uint64_t*>(content.results.device());
  HS_CUDA(device, cudaMemsetAsync, words, 0xFF,
          static_cast<std::size_t>(kArrays * kWord * num_items), content.context.stream);
  if (Status status =
          launch_verify(arrays.value(), count, {words, words + num_items, words + 2 * num_items},
                        content.context);
      !status)
    return status.error();
  if (Status status = content.results.fetch(content.results.device(), kArrays * kWord * num_items,
                                            content.context);
      !status)
    return status.error();
  const auto* seen = content.results.host<std::uint64_t>();
  std::vector<StateMismatch> mismatches;
  for (std::int64_t i = 0; i < num_items; ++i) {
    if (seen[i] == kNoDifference) continue;
    const auto of = static_cast<std::size_t>(i / content.device_map.view.most_states);
    const auto group = static_cast<std::size_t>(contents.blocks[of].group_index);
    mismatches.push_back(
        {.content = static_cast<std::int32_t>(of),
         .state_index = content.map.group_states[group].first +
                        static_cast<std::int32_t>(i % content.device_map.view.most_states),
         .element = static_cast<std::int64_t>(seen[i]),
         .expected = seen[num_items + i],
         .seen = seen[2 * num_items + i]});
  }
  return mismatches;
}

Result<std::vector<std::uint64_t>> CudaStateBackend::digests(std::span<const std::int32_t> blocks) {
  Content& content = *content_;
  for (const std::int32_t block : blocks)
    HS_EXPECT(block >= 0 && block < content.memory.num_blocks);
  if (blocks.empty()) return std::vector<std::uint64_t>{};
  if (Status status = content.select(); !status) return status.error();
  const auto num_bytes = static_cast<std::int64_t>(blocks.size() * sizeof(std::uint64_t));
  const int device = content.context.device;
  if (Status status = content.results.reserve(device, num_bytes); !status) return status.error();
  content.piece.clear();
  const auto sent = content.piece.add(blocks);
  if (Status status = content.upload.send(content.piece, content.context); !status)
    return status.error();
  HS_CUDA(device, cudaMemsetAsync, content.results.device(), 0, static_cast<std::size_t>(num_bytes),
          content.context.stream);
  const Pages pages{.data = content.pages.data(),
                    .buffer_bytes = content.memory.buffer_bytes(),
                    .page_size_bytes = content.memory.page_size_bytes,
                    .num_buffers = content.memory.num_buffers};
  if (Status status = launch_digests(
          pages, sent.in(content.upload.data()), static_cast<std::int32_t>(blocks.size()),
          reinterpret_cast<std::uint64_t*>(content.results.device()), content.context);
      !status)
    return status.error();
  if (Status status = content.results.fetch(content.results.device(), num_bytes, content.context);
      !status)
    return status.error();
  const auto* digests = content.results.host<std::uint64_t>();
  return std::vector<std::uint64_t>(digests, digests + blocks.size());
}

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
