// Where kernels are launched, and launches recorded in a CUDA graph. Not for other folders: it
// includes CUDA's headers.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <type_traits>

#include "core/base/result.h"
#include "kernels/cuda/launch_order.h"

namespace hybridscope {

// Where kernels are launched, and in which order their blocks of threads begin.

struct LaunchContext {
  cudaStream_t stream = nullptr;
  int device = 0;
  LaunchOrder order;
};

struct DestroyGraphExec {
  void operator()(cudaGraphExec_t graph) const { static_cast<void>(cudaGraphExecDestroy(graph)); }
};

// Must not outlive its stream, nor what the launches read and write.
class LaunchGraph {
 public:
  // Records what `launches` sends to the stream and executes nothing. CUDA refuses to record what
  // waits or allocates. Errors: that of `launches`; the device's.
  static Result<LaunchGraph> record(const LaunchContext& context,
                                    const std::function<Status()>& launches);
  // Launches on the stream that it was recorded on; does not wait. Error: the device's.
  Status launch() const;

 private:
  explicit LaunchGraph(const LaunchContext& context) : context_(context) {}

  LaunchContext context_;
  std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, DestroyGraphExec> exec_;
};

}  // namespace hybridscope
