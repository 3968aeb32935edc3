// What the launches of one step read and use beside the states themselves: operations, folded
// fingerprints, the second buffer of copies.
#pragma once

#include "core/base/result.h"
#include "kernels/cuda/device_map.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/step_launches.h"

namespace hybridscope {

class DeviceStep {
 public:
  // Everything that waits or allocates; the launches behind it do neither.
  Status prepare(const StateOps& ops, const StepPlan& plan, const DeviceMap& map,
                 const LaunchContext& context);
  const StepArrays& arrays() const { return arrays_; }

 private:
  ArrayPiece piece_;
  DeviceUpload upload_;
  DeviceMemory folded_;
  DeviceMemory staging_;
  StepArrays arrays_;
};

}  // namespace hybridscope
