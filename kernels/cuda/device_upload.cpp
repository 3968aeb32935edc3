#include "kernels/cuda/device_upload.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace hybridscope {

Status DeviceUpload::reserve(int device, std::int64_t num_bytes) {
  for (Staging& staging : stagings_)
    if (Status status = make_room(staging, device, num_bytes); !status) return status;
  return device_.reserve(device, num_bytes);
}

Status DeviceUpload::make_room(Staging& staging, int device, std::int64_t num_bytes) {
  if (staging.sent == nullptr) {
    Result<Event> event = make_event(device);
    if (!event) return event.error();
    staging.sent = std::move(event).value();
  }
  return staging.memory.reserve(device, num_bytes);
}

Status DeviceUpload::wait_until_sent(const Staging& staging, int device) {
  if (!staging.recorded) return Ok{};
  const cudaError_t code = cudaEventQuery(staging.sent.get());
  if (code != cudaErrorNotReady) return cuda_status(code, "cudaEventQuery", device);
  static_cast<void>(cudaGetLastError());  // later calls must not report cudaErrorNotReady
  ++num_waits_;
  HS_CUDA(device, cudaEventSynchronize, staging.sent.get());
  return Ok{};
}

Status DeviceUpload::send(const ArrayPiece& piece, const LaunchContext& context) {
  const int device = context.device;
  const std::span<const std::byte> bytes = piece.bytes();
  if (bytes.empty()) return Ok{};
  const auto size = static_cast<std::int64_t>(bytes.size());
  Staging& staging = stagings_[next_];
  next_ = (next_ + 1) % stagings_.size();
  if (Status status = wait_until_sent(staging, device); !status) return status;
  if (Status status = make_room(staging, device, size); !status) return status;
  if (Status status = device_.reserve(device, size); !status) return status;
  std::memcpy(staging.memory.data(), bytes.data(), bytes.size());
  HS_CUDA(device, cudaMemcpyAsync, device_.data(), staging.memory.data(), bytes.size(),
          cudaMemcpyHostToDevice, context.stream);
  HS_CUDA(device, cudaEventRecord, staging.sent.get(), context.stream);
  staging.recorded = true;
  return Ok{};
}

std::int64_t DeviceUpload::num_allocations() const {
  std::int64_t count = device_.num_allocations();
  for (const Staging& staging : stagings_) count += staging.memory.num_allocations();
  return count;
}

Status send_map(const MemoryMap& map, const LaunchContext& context, DeviceMap& device_map) {
  ArrayPiece piece;
  const auto states = piece.add(map.states);
  const auto group_states = piece.add(map.group_states);
  const auto temporal_kinds = piece.add(map.temporal_kinds);
  const auto conv_kinds = piece.add(map.conv_kinds);
  if (Status status = device_map.upload.send(piece, context); !status) return status;
  const std::byte* data = device_map.upload.data();
  device_map.view = view_of(map);
  device_map.view.states = states.in(data);
  device_map.view.group_states = group_states.in(data);
  device_map.view.temporal_kinds = temporal_kinds.in(data);
  device_map.view.conv_kinds = conv_kinds.in(data);
  device_map.widest_group = map.widest_group;
  return Ok{};
}

namespace {

// Bytes of the arrays that prepare() sends, each of which begins at a multiple of 16 bytes.
std::int64_t piece_bytes(const StepSize& size) {
  constexpr std::size_t kWrite = sizeof(ForwardWrite) + sizeof(TemporalWrite);
  constexpr std::size_t kToken = sizeof(TokenContent) + sizeof(Fingerprint);
  constexpr std::int64_t kNumArrays = 7;
  const auto bytes = [](std::int64_t count, std::size_t element) {
    return count * static_cast<std::int64_t>(element);
  };
  return bytes(size.num_poisoned, sizeof(std::int32_t)) +
         bytes(size.num_copies, sizeof(StateCopyOp)) + bytes(size.num_rows, sizeof(ForwardRow)) +
         bytes(size.num_writes, kWrite) + bytes(size.num_tokens, kToken) + kNumArrays * 16;
}

}  // namespace

Status DeviceStep::reserve(const StepSize& size, std::int64_t most_meeting, const DeviceMap& map,
                           int device) {
  if (Status status = upload_.reserve(device, piece_bytes(size)); !status) return status;
  return reserve_results(size.num_writes, most_meeting, map, device);
}

Status DeviceStep::reserve_results(std::int64_t num_writes, std::int64_t most_meeting,
                                   const DeviceMap& map, int device) {
  if (Status status = folded_.reserve(device, num_writes * num_folded(map.view) *
                                                  static_cast<std::int64_t>(sizeof(Fingerprint)));
      !status)
    return status;
  if (most_meeting == 0) return Ok{};
  const std::int64_t least =
      least_scratch(map.view, most_meeting) * static_cast<std::int64_t>(sizeof(*arrays_.scratch));
  return scratch_.reserve(device, std::max(least, kCopyScratchBytes));
}

Status DeviceStep::prepare(const StateOps& ops, const StepPlan& plan, const DeviceMap& map,
                           const LaunchContext& context) {
  piece_.clear();
  const auto poisoned = piece_.add(ops.poisoned);
  const auto copies = piece_.add(ops.copies);
  const auto rows = piece_.add(ops.rows);
  const auto writes = piece_.add(ops.writes);
  const auto tokens = piece_.add(ops.tokens);
  const auto token_fingerprints = piece_.add(ops.token_fingerprints);
  const auto temporal_writes = piece_.add(plan.temporal_writes);
  if (Status status =
          reserve_results(size_of(ops).num_writes, plan.most_meeting, map, context.device);
      !status)
    return status;
  if (Status status = upload_.send(piece_, context); !status) return status;
  const std::byte* data = upload_.data();
  arrays_ = {.memory = map.view,
             .widest_group = map.widest_group,
             .poisoned = poisoned.in(data),
             .copies = copies.in(data),
             .forward = {.rows = rows.in(data),
                         .writes = writes.in(data),
                         .tokens = tokens.in(data),
                         .token_fingerprints = token_fingerprints.in(data),
                         .folded = reinterpret_cast<Fingerprint*>(folded_.data())},
             .temporal_writes = temporal_writes.in(data),
             .scratch = reinterpret_cast<std::uint32_t*>(scratch_.data()),
             .scratch_size = scratch_.size() / static_cast<std::int64_t>(sizeof(*arrays_.scratch))};
  return Ok{};
}

std::int64_t DeviceStep::num_allocations() const {
  return upload_.num_allocations() + folded_.num_allocations() + scratch_.num_allocations();
}

std::vector<DeviceStates::Run> DeviceStates::runs_of(HostStateBytes states) {
  std::vector<std::span<std::byte>> sorted(states.begin(), states.end());
  std::ranges::sort(sorted, std::less<>{}, [](const auto& state) { return state.data(); });
  std::vector<Run> runs;
  for (const std::span<std::byte> state : sorted) {
    std::byte* end = state.data() + state.size();
    if (runs.empty() || state.data() >= runs.back().end)
      runs.push_back({.begin = state.data(), .end = end});
    else
      runs.back().end = std::max(runs.back().end, end, std::less<>{});
  }
  std::int64_t offset = 0;
  for (Run& run : runs) {
    run.offset = offset;
    offset = round_up(offset + (run.end - run.begin), std::int64_t{256});
  }
  return runs;
}

// An empty state has no run of its own: it is where the memory begins.
std::byte* DeviceStates::base_of(std::span<std::byte> state) const {
  const auto run = std::ranges::find_if(runs_, [&](const Run& candidate) {
    return !std::less<>{}(state.data(), candidate.begin) &&
           std::less<>{}(state.data(), candidate.end);
  });
  if (run == runs_.end()) return memory_.data();
  return memory_.data() + run->offset + (state.data() - run->begin);
}

Status DeviceStates::copy_all(cudaMemcpyKind kind, const LaunchContext& context) const {
  for (const Run& run : runs_) {
    const auto size = static_cast<std::size_t>(run.end - run.begin);
    std::byte* there = memory_.data() + run.offset;
    const bool to_device = kind == cudaMemcpyHostToDevice;
    HS_CUDA(context.device, cudaMemcpyAsync, to_device ? there : run.begin,
            to_device ? run.begin : there, size, kind, context.stream);
  }
  HS_CUDA(context.device, cudaStreamSynchronize, context.stream);
  return Ok{};
}

Result<DeviceStates> DeviceStates::upload(HostStateBytes states, const LaunchContext& context) {
  DeviceStates result;
  result.runs_ = runs_of(states);
  if (!result.runs_.empty()) {
    const Run& last = result.runs_.back();
    if (Status status =
            result.memory_.reserve(context.device, last.offset + (last.end - last.begin));
        !status)
      return status.error();
  }
  if (Status status = result.copy_all(cudaMemcpyHostToDevice, context); !status)
    return status.error();
  for (const std::span<std::byte> state : states) result.bases_.push_back(result.base_of(state));
  return Result<DeviceStates>(std::move(result));
}

Status DeviceStates::download(const LaunchContext& context) const {
  return copy_all(cudaMemcpyDeviceToHost, context);
}

}  // namespace hybridscope
