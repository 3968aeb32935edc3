// A language model's weights in the memory of a CUDA device. Not for other folders: it includes
// CUDA's headers.
#pragma once

#include "core/base/result.h"
#include "core/numeric/hybrid_model.h"
#include "kernels/cuda/device_memory.h"

namespace hybridscope {

class DeviceModel {
 public:
  // Copies all weights to the current device and waits for it. Error: the device has too little
  // memory free; the device's.
  static Result<DeviceModel> create(const HybridModel& model, int device);

  // Its spans are in device memory; `tensors` is empty.
  const HybridModel& model() const { return model_; }

 private:
  DeviceModel() = default;

  HybridModel model_;
  DeviceMemory memory_;
};

}  // namespace hybridscope
