#include "kernels/cuda/device_step.h"

namespace hybridscope {

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
  const std::int64_t num_fingerprints =
      static_cast<std::int64_t>(ops.writes.size()) * num_folded(map.view);
  if (Status status = folded_.reserve(
          context.device, num_fingerprints * static_cast<std::int64_t>(sizeof(Fingerprint)));
      !status)
    return status;
  if (Status status = staging_.reserve(context.device, plan.most_saved * map.staging_stride);
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
             .staging = staging_.data(),
             .staging_offsets = map.staging_offsets,
             .staging_stride = map.staging_stride};
  return Ok{};
}

}  // namespace hybridscope
