// What the launches of one step read and use beside the states themselves: operations, folded
// fingerprints, scratch for copies that get in each other's way.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "core/state/step_size.h"
#include "kernels/cuda/device_map.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/step_launches.h"

namespace hybridscope {

// Such copies run as many lanes at a time as fit.
inline constexpr std::int64_t kCopyScratchBytes = std::int64_t{16} << 20;

class DeviceStep {
 public:
  // Room for steps of that size, `most_meeting` of whose copies get in each other's way in one
  // launch; 0: none do. Requires: no step is under way. Error: the device's.
  Status reserve(const StepSize& size, std::int64_t most_meeting, const DeviceMap& map, int device);
  // Sends the step to the device; neither waits nor allocates where room was made and the device
  // is not kPiecesUnderWay steps behind. The launches behind it never do.
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
