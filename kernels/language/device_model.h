// A language model's weights and its blocks in the memory of a CUDA device. Not for other folders:
// it includes CUDA's headers.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/language/numeric_memory.h"
#include "core/numeric/hybrid_model.h"
#include "core/numeric/model_forward.h"
#include "kernels/cuda/device_memory.h"
#include "kernels/language/language_kernels.h"

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

// The blocks of a language model's layers in the memory of a CUDA device, and what a step does to
// them: NumericMemory there.

class DevicePools {
 public:
  // All elements are zero. `layout`: made for `room`. Error: the device has too little memory free,
  // with the numbers.
  static Result<DevicePools> create(const LanguageLayout& layout, const ConvRoom& room, int device);

  // [layers] views in device memory.
  std::span<const LayerMemory> layers() const { return views_; }
  // [layers] the same for the kernels of language_kernels.h, in device memory.
  std::span<const LayerPools> table() const { return table_; }

 private:
  DevicePools() = default;

  DeviceMemory memory_;
  DeviceMemory table_memory_;
  std::span<const LayerPools> table_;
  std::vector<LayerMemory> views_;
};

}  // namespace hybridscope
