#include "kernels/cuda/device_step.h"

#include <algorithm>

namespace hybridscope {
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

}  // namespace hybridscope
