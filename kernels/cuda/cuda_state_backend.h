// State in the memory of a CUDA device: the same bytes as CpuStateBackend after the same calls.
// In a build without CUDA, create() returns an error.
//
// Every launch runs a plain body of kernels/ lane by lane (lane_kernel), except the digest
// (page_kernels).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/state/state_backend.h"
#include "kernels/cuda/launch_order.h"

namespace hybridscope {

struct CudaBackendOptions {
  StateMemory memory;
  std::int32_t device = 0;  // ordinal
  // The step that creation makes room for. A larger one allocates its own room, once.
  StepSize largest_step = {};
  LaunchOrder launch_order = {};  // of every launch
};

class CudaStateBackend final : public StateBackend {
 public:
  // All bytes begin as poison, padding included. Errors, before anything runs: not_available when
  // built without CUDA, without a usable device (describe_cuda), with an ordinal that no device
  // has, or when the device has too little memory free for the states and the largest step (with
  // the numbers); invalid_input what make_memory_map refuses.
  static Result<std::unique_ptr<StateBackend>> create(CudaBackendOptions options);
  ~CudaStateBackend() override;

  const StateMemory& memory() const override;
  // Returns when everything is launched. Waits only for a device that is four steps behind,
  // allocates only for a step larger than largest_step and any before (delays()). An error of the
  // device may be reported by a later call.
  Status run(const StateOps& ops) override;
  // These wait for what was launched before them.
  Result<std::vector<StateMismatch>> verify(const BlockContents& contents) override;
  Result<std::vector<std::uint64_t>> digests(std::span<const std::int32_t> blocks) override;

  StateDelays delays() const override;

 private:
  friend class DevicePages;  // of the tests: the pages as bytes
  struct Content;
  explicit CudaStateBackend(std::unique_ptr<Content> content);
  std::unique_ptr<Content> content_;
};

}  // namespace hybridscope
