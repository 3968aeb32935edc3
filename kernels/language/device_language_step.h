// The work of one step of a language model on a CUDA device, queued until it is sent: arrays in one
// piece, launches in order. Not for other folders: it includes CUDA's headers.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "kernels/cuda/device_upload.h"

namespace hybridscope {

// Where the arrays of a step lie on the device.
struct StepPieces {
  const std::byte* front = nullptr;
  const std::byte* rest = nullptr;
};
using StepLaunch = std::function<Status(const StepPieces& pieces)>;

class DeviceLanguageStep {
 public:
  // Arrays in front lie at the same place in every step that has the same ones: those that a CUDA
  // graph reads.
  ArrayPiece& front() { return front_; }
  ArrayPiece& rest() { return rest_; }
  void add(StepLaunch launch) { launches_.push_back(std::move(launch)); }
  bool empty() const { return launches_.empty(); }

  // Sends the arrays and launches everything, then begins anew. Error: that of a launch, the
  // device's.
  Status send(DeviceUpload& upload, const LaunchContext& context);

 private:
  ArrayPiece front_, rest_;
  std::vector<StepLaunch> launches_;
};

}  // namespace hybridscope
