// The map of the states, sent to a device once.
#pragma once

#include "core/base/result.h"
#include "kernels/cuda/device_upload.h"
#include "kernels/memory_map.h"

namespace hybridscope {

struct DeviceMap {
  DeviceUpload upload;
  MemoryView view;  // device addresses
  StateRange widest_group;
};

// `map` was made with the device's base address.
Status send_map(const MemoryMap& map, const LaunchContext& context, DeviceMap& device_map);

}  // namespace hybridscope
