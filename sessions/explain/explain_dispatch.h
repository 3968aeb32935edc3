// In words, the captured graph that a step runs in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/engine/engine_config.h"
#include "core/metadata/cudagraph_mode.h"

namespace hybridscope {

struct DispatchToExplain {
  CudagraphDispatch dispatch;
  std::int32_t num_tokens = 0;  // in the batch, without padding
  std::int32_t num_reqs = 0;
  bool uniform_decode = false;
  std::int32_t num_spec = 0;  // K
  // False: the reason is unknown; without a full graph, so is the kind of batch.
  bool reason_known = true;
};

// Does the trace say why the step got its graph? Another engine's trace says at most which one.
bool dispatch_reason_known(const CudagraphDispatch& dispatch, const EngineConfig& config);

// One line without newline: runtime mode, reason, and padding.
std::string explain_dispatch(const DispatchToExplain& step);

// "NONE", "FULL_AND_PIECEWISE": as on vLLM's command line.
std::string_view cudagraph_mode_name(CUDAGraphMode mode);

}  // namespace hybridscope
