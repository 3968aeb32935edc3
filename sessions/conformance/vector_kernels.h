// What recomputing a vector leaves to kernels. They are implemented in kernels/ and passed in by
// app/, so that sessions/ and kernels/ stay independent.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/metadata/block_table_gather.h"
#include "core/state/align_mode.h"
#include "core/state/state_copy.h"
#include "core/state/state_layout.h"
#include "sessions/conformance/numeric_kernels.h"

namespace hybridscope {

// All take and leave what they work on in host memory. Where a member is empty, core decides on the
// host and execute_copies carries out.
struct VectorKernels {
  // Only kinds of vectors that have kernels are recomputed (VectorKind::on_device).
  bool on_device = false;

  // Runs copies on the bytes of state tensors, in order.
  std::function<Status(std::span<const StateCopy> copies, HostStateBytes states)> execute_copies{};
  // The fused launches of mode align: each decides as the function of core decides and makes the
  // copies that follow. run_fused_postprocess, `num_accepted_tokens_out` as there.
  std::function<Status(const HostStates& states, const PostprocessV1Inputs& inputs,
                       std::span<std::int32_t> num_accepted_tokens_out)>
      fused_postprocess{};
  // run_fused_postprocess_align, `num_accepted_tokens` as there.
  std::function<Status(const HostStates& states, const PostprocessV2Inputs& inputs,
                       std::span<std::int32_t> num_accepted_tokens)>
      fused_postprocess_align{};
  // preprocess_mamba_align, then run_fused_precopy for `precopy_rows` ([num_reqs] row -> slot, -1:
  // skip).
  std::function<Status(const HostStates& states, const AlignAdvanceInputs& inputs,
                       std::span<const std::int32_t> precopy_rows, AlignSlots& slots)>
      advance_and_precopy{};
  // The window that find_block_table_window finds, [rows, width] row-major.
  std::function<Result<std::vector<std::int32_t>>(const BlockTableGatherInput& input)>
      gather_block_table{};
  // The operations of real recurrences.
  NumericKernels numeric = host_numeric_kernels();
};

// A kernel could not run: the machine lacks something, or its device failed. No fault of the
// vector; nothing more can be checked.
class VectorKernelError : public std::exception {
 public:
  explicit VectorKernelError(Error error) : error_(std::move(error)) {}
  const char* what() const noexcept override { return error_.message.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

// Throws what a kernel refused: VectorKernelError for errors of the device (device, not_available),
// std::runtime_error for inputs that it does not take.
void expect_launched(const Status& status);

// The kernels of `kernels`, each of which adds 1 to `num_launches` when it is called.
// `num_launches` must outlive them.
VectorKernels counted(VectorKernels kernels, std::int64_t& num_launches);

}  // namespace hybridscope
