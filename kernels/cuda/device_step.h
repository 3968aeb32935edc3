// What the launches of one step use besides the states themselves: operations, folded fingerprints,
// scratch for conflicting copies.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/state/state_backend.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/step_launches.h"

namespace hybridscope {

// Scratch for conflicting copies, which run as many lanes at a time as fit.
inline constexpr std::int64_t kCopyScratchBytes = std::int64_t{16} << 20;

class DeviceStep {
 public:
  // Makes room for steps of that size, with at most `most_meeting` conflicting copies in one
  // launch. Requires: no step is in progress. Error: the device's.
  Status reserve(const StepSize& size, std::int64_t most_meeting, const DeviceMap& map, int device);
  // Sends the step to the device; neither waits nor allocates if room was made and the device is
  // less than kPiecesUnderWay steps behind. The launches that follow never do.
  Status prepare(const StateOps& ops, const StepPlan& plan, const DeviceMap& map,
                 const LaunchContext& context);
  const StepArrays& arrays() const { return arrays_; }

  std::int64_t num_allocations() const;
  std::int64_t num_waits() const { return upload_.num_waits(); }

 private:
  Status reserve_results(std::int64_t num_writes, std::int64_t most_meeting, const DeviceMap& map,
                         int device);

  ArrayPiece piece_;
  DeviceUpload upload_;
  DeviceMemory folded_;
  DeviceMemory scratch_;
  StepArrays arrays_;
};

}  // namespace hybridscope
